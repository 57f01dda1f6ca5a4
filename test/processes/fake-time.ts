import { existsSync } from 'node:fs'

const LIBFAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
export const canFakeTime = existsSync(LIBFAKETIME)

/** The environment of a process whose clock is as wrong as that, such as `+3h`; its monotonic clock stays right. */
export function clockOf(clock: string | undefined): NodeJS.ProcessEnv {
  if (clock === undefined) return {}
  return {
    LD_PRELOAD: LIBFAKETIME,
    FAKETIME: clock,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  }
}
