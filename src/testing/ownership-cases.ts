import { randomUUID } from 'node:crypto'
import {
  acquire,
  acquireBriefly,
  acquireWhenFree,
  expectFree,
  expectGrowing,
  expectHeld,
  expectLost,
  expectOver,
  expectRefused,
  newConfiguration,
  prepare,
  untilFree,
  type Cases,
} from './expectations'

const OUTCOMES = [undefined, 'succeeded', 'failed', 'unused'] as const

/** Names that a storage might take for one another, or for something else. */
const NAMES = [
  ...['Job', 'job', 'jób', 'jo\u0301b', 'JOB', 'ﬀ', 'ff', 'ß', 'ss', 'null'],
  `'; drop table shedlock; --`,
  `" or "1"="1`,
  '`name`',
  String.raw`back\slash \' \0 %s %_`,
  '$1 ? :name @0 #name $name {name}',
  'Žluťoučký kůň 漢字 🔒',
  '-- /* comment */',
]

/** Cases about who is kept out: every caller, of this lock alone, until it is released; and about requests that arrive late. */
export const ownershipCases: Cases = {
  'acquires a lock, refuses it to every instance while it is held, and releases it': async (environment) => {
    const { provider, other, configuration } = await prepare(environment)
    const lock = await acquire(provider, configuration)
    await expectHeld(environment, configuration.name)
    for (const instance of [provider, other]) await expectRefused(instance, configuration)
    await lock.unlock('succeeded')
    await expectFree(environment, configuration.name)
    await acquire(other, configuration)
  },
  'is never refused in 200 acquisitions right after a release, each with a greater fencing token': async (
    environment,
  ) => {
    const { provider, other, configuration } = await prepare(environment)
    const tokens: (number | undefined)[] = []
    for (let round = 0; round < 100; round++) {
      for (const instance of [provider, other]) {
        const lock = await acquire(instance, configuration)
        tokens.push(await lock.fencingToken?.())
        await lock.unlock(undefined)
      }
    }
    expectGrowing(tokens)
  },
  'keeps locks apart whose names differ only in case, accents, composition or their last character, or are SQL':
    async (environment) => {
      const provider = await environment.createProvider()
      const suffix = randomUUID()
      const start = `${suffix}${'ň'.repeat(64)}`.slice(0, 63)
      const names = [...NAMES.map((name) => `${name} ${suffix.slice(0, 8)}`), `${start}a`, `${start}b`]
      const locks = []
      for (const name of names)
        locks.push({ name, lock: await acquire(provider, newConfiguration({ name })) })
      for (const { name, lock } of locks) {
        await expectHeld(environment, name)
        await lock.unlock(undefined)
        await expectFree(environment, name)
      }
    },
  'does not let a late holder release or change the lock of its successor': async (environment) => {
    await Promise.all(
      OUTCOMES.map(async (outcome) => {
        const { provider, other, configuration } = await prepare(environment, { lockAtMostFor: '2s' })
        const late = await acquire(provider, { ...configuration, lockAtLeastFor: '2s' })
        const successor = await acquireWhenFree(other, configuration)
        await expectLost(late.extend(300_000, 300_000))
        await late.unlock(outcome)
        await acquireWhenFree(provider, configuration)
        expectOver(successor.lease)
      }),
    )
  },
  'does nothing when a lock is released twice, and keeps the first outcome': async (environment) => {
    for (const outcome of OUTCOMES) {
      const slot = Date.now() - 3_600_000
      const { provider, other, configuration } = await prepare(environment, { slot, untilSucceeded: true })
      const lock = await acquire(provider, configuration)
      await lock.unlock('succeeded')
      await lock.unlock(outcome)
      await expectRefused(other, configuration, 'already-run')
      await acquire(other, { ...configuration, slot: slot + 60_000 })
      await lock.unlock(outcome)
      await expectHeld(environment, configuration.name)
    }
  },
  'grants its holder nothing after the release, even while lockAtLeastFor keeps the lock held': async (
    environment,
  ) => {
    for (const lockAtLeastFor of ['0ms', '2s']) {
      const { provider, configuration } = await prepare(environment, { lockAtLeastFor })
      const lock = await acquire(provider, configuration)
      await lock.unlock('failed')
      await expectLost(lock.extend(300_000, 300_000))
      await expectLost(lock.fencingToken?.())
      await untilFree(environment, configuration.name)
    }
  },
  'does not bring a lock back that is released after its lease': async (environment) => {
    await Promise.all(
      OUTCOMES.map(async (outcome) => {
        const durations = { lockAtMostFor: '2s', lockAtLeastFor: '2s' }
        const { provider, configuration } = await prepare(environment, durations)
        const late = await acquire(provider, configuration)
        await untilFree(environment, configuration.name)
        await late.unlock(outcome)
        await expectFree(environment, configuration.name)
        await acquire(provider, configuration)
      }),
    )
  },
  'has no fencing token for a holder that lost the lock, and a greater one for the next holder': async (
    environment,
  ) => {
    const { provider, other, configuration } = await prepare(environment)
    const { lock: late, answer } = await acquireBriefly(provider, configuration, async (lock) => {
      const token = await lock.fencingToken?.()
      return lock.lease.remaining() > 0 ? { token } : undefined
    })
    await untilFree(environment, configuration.name)
    await expectLost(late.fencingToken?.())
    const successor = await acquireWhenFree(other, configuration)
    await expectLost(late.fencingToken?.())
    expectGrowing([answer.token, await successor.fencingToken?.()])
  },
}
