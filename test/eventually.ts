import { setTimeout as sleep } from 'node:timers/promises'

export interface Patience {
  /** Milliseconds. Against hanging; how fast the machine is must not matter. */
  readonly timeout?: number
  readonly interval?: number
}

/** Tries until the attempt no longer throws. Resolves to its value, or rejects with its last error when time is up. */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  { timeout = 30_000, interval = 50 }: Patience = {},
): Promise<T> {
  const deadline = Date.now() + timeout
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    await sleep(interval)
  }
}
