import assert from 'node:assert/strict'
import type { LockConfiguration, Refusal } from '../core/internal'
import {
  acquire,
  expectFree,
  expectGrowing,
  expectHeld,
  expectRefused,
  prepare,
  unlessOver,
  untilFree,
  type Cases,
  type Outcome,
} from './expectations'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const UNTIL_SUCCEEDED = { untilSucceeded: true }

/**
 * One attempt to acquire a slot, in milliseconds from an hour ago, or the lock without a slot: how its run ends, or why the attempt
 * is refused.
 */
type Attempt = readonly [
  slot: number | undefined,
  end: 'no outcome' | Exclude<Outcome, undefined> | 'died' | 'unused, after its lease' | Refusal['reason'],
  rest?: Partial<LockConfiguration>,
]

/** Creates a case of attempts by two instances in turn. The fencing tokens must grow. */
const attempts = (...all: readonly Attempt[]): Cases[string] => inTurn(all)

/** The same with `untilSucceeded`. */
const untilSucceeded = (...all: readonly Attempt[]): Cases[string] => inTurn(all, UNTIL_SUCCEEDED)

function inTurn(all: readonly Attempt[], rest?: Partial<LockConfiguration>): Cases[string] {
  return async (environment) => {
    const { provider, other, configuration } = await prepare(environment, rest)
    const anHourAgo = Math.floor(Date.now() / 1_000) * 1_000 - HOUR
    const tokens: (number | undefined)[] = []
    for (const [index, [fromAnHourAgo, end, more]] of all.entries()) {
      const instance = index % 2 === 0 ? provider : other
      const slot = fromAnHourAgo === undefined ? undefined : anHourAgo + fromAnHourAgo
      const ofAttempt = { ...configuration, slot, ...more }
      if (end === 'held' || end === 'already-run' || end === 'slot-too-far-ahead') {
        await expectRefused(instance, ofAttempt, end)
        continue
      }
      const isLate = end === 'died' || end === 'unused, after its lease'
      const lock = await acquire(instance, isLate ? { ...ofAttempt, lockAtMostFor: '2s' } : ofAttempt)
      const check = async (): Promise<void> => {
        const token = await lock.fencingToken?.()
        assert(
          Number(token) >= (slot ?? 0),
          `the fencing token ${token} of slot ${slot} is less than the slot`,
        )
        // If nothing ran, the slot is free again, so its token may be used again.
        if (!end.startsWith('unused')) tokens.push(token)
        if (isLate) await expectHeld(environment, configuration.name)
      }
      if (isLate) {
        // A busy machine may be too slow for two seconds.
        await unlessOver(lock, check())
        await untilFree(environment, configuration.name)
        if (end === 'died') continue
        await lock.unlock('unused')
      } else {
        await check()
        await lock.unlock(end === 'no outcome' ? undefined : end)
      }
      await expectFree(environment, configuration.name)
    }
    expectGrowing(tokens)
  }
}

/** Cases about slots: a slot is the time at which a run was due. */
export const slotCases: Cases = {
  'acquires a slot only once, and returns why it refuses the slot afterwards': attempts(
    [0, 'failed'],
    [0, 'already-run'],
    [MINUTE, 'no outcome'],
    [0, 'already-run', UNTIL_SUCCEEDED],
  ),
  'acquires any later slot, but no slot before one that was acquired': attempts(
    [0, 'no outcome'],
    [2 * MINUTE, 'no outcome'],
    [MINUTE, 'already-run'],
    [2 * MINUTE + 1, 'no outcome'],
  ),
  'does not acquire the slot of a dead holder again, but acquires the next one': attempts(
    [0, 'died'],
    [0, 'already-run'],
    [MINUTE, 'succeeded'],
  ),
  'does not acquire a slot that was due before a run without a slot': attempts(
    [undefined, 'no outcome'],
    [0, 'already-run'],
    [HOUR + MINUTE / 2, 'no outcome'],
  ),
  'acquires a lock without a slot after any slot, even one in the future': attempts(
    [HOUR + MINUTE / 4, 'no outcome'],
    [undefined, 'no outcome'],
    [undefined, 'no outcome'],
    [HOUR + MINUTE / 2, 'no outcome'],
    [undefined, 'no outcome'],
  ),
  'refuses a slot more than a minute in the future, and leaves no trace': attempts(
    [HOUR + 2 * MINUTE, 'slot-too-far-ahead'],
    [0, 'no outcome'],
    [HOUR + 2 * MINUTE, 'slot-too-far-ahead'],
    [HOUR + MINUTE / 2, 'no outcome'],
  ),
  'acquires a slot again until it has succeeded, with a greater token each time': untilSucceeded(
    [0, 'failed'],
    [0, 'no outcome'],
    [0, 'failed'],
    [0, 'unused'],
    [0, 'succeeded'],
    [0, 'already-run'],
    [999, 'already-run'],
  ),
  'does not acquire a slot again after a later slot, even if the later one failed': untilSucceeded(
    [0, 'failed'],
    [1_000, 'failed'],
    [0, 'already-run'],
  ),
  'acquires the slot of a dead holder again with untilSucceeded, even if the slot before succeeded':
    untilSucceeded(
      [0, 'succeeded'],
      [MINUTE, 'died'],
      [MINUTE, 'already-run', { untilSucceeded: false }],
      [MINUTE, 'succeeded'],
      [MINUTE, 'already-run'],
    ),
  'counts a success that is reported after the lease, if the lock was not acquired since': async (
    environment,
  ) => {
    const { provider, configuration } = await prepare(environment, {
      slot: Date.now() - HOUR,
      untilSucceeded: true,
      lockAtMostFor: '2s',
    })
    const late = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    const again = await acquire(provider, { ...configuration, lockAtMostFor: '5m' })
    await late.unlock('succeeded')
    await again.unlock('failed')
    await late.unlock('succeeded')
    const last = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    await last.unlock('succeeded')
    await expectRefused(provider, configuration, 'already-run')
  },
  'acquires a slot again, but no earlier one, if nothing ran, even if its lease is over': attempts(
    [0, 'succeeded'],
    [MINUTE, 'unused, after its lease'],
    [0, 'already-run'],
    [MINUTE, 'succeeded'],
    [MINUTE, 'already-run'],
  ),
}
