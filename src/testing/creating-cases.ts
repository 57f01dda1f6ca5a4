import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  acquire,
  acquireAndRelease,
  expectFree,
  expectHeld,
  expectLockError,
  expectRefused,
  newConfiguration,
  prepare,
  untilFree,
} from './expectations'
import type { Cases, LockProviderEnvironment } from './lock-provider-environment'

const HOSTILE_NAMES = [
  `'; drop table shedlock; --`,
  `" or "1"="1`,
  '`name`',
  String.raw`back\slash \' \0 %s %_`,
  '$1 ? :name @0 #name $name {name}',
  'null',
  'Žluťoučký kůň 漢字 🔒',
  '-- /* comment */',
]

/** Cases about a single lock: acquiring it, who owns it, and its name. All holders share a host and a process id. */
export const creatingCases: Cases<LockProviderEnvironment> = {
  'acquires a lock and releases it': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const lock = await acquire(provider, configuration)
    await expectHeld(environment, configuration.name)
    await lock.unlock()
    await expectFree(environment, configuration.name)
  },
  'refuses a second lock of the same name while the first is held': async (environment) => {
    const configuration = newConfiguration()
    const lock = await acquire(await environment.createProvider(), configuration)
    await expectRefused(await environment.createProvider(), configuration)
    await lock.unlock()
  },
  'refuses the holder itself a second lock of the same name': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const lock = await acquire(provider, configuration)
    await expectRefused(provider, configuration)
    await lock.unlock()
  },
  'keeps locks of different names apart': async (environment) => {
    const provider = await environment.createProvider()
    const [one, other] = [newConfiguration(), newConfiguration()]
    const first = await acquire(provider, one)
    const second = await acquire(provider, other)
    await first.unlock()
    await expectHeld(environment, other.name)
    await second.unlock()
    await expectFree(environment, other.name)
  },
  'can be acquired by any instance as soon as it is released': async (environment) => {
    const configuration = newConfiguration()
    for (let round = 0; round < 10; round++) {
      const provider = await environment.createProvider()
      const lock = await acquire(provider, configuration)
      await expectRefused(provider, configuration)
      await lock.unlock()
    }
  },
  'is never refused in 200 acquisitions right after a release': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    for (let round = 0; round < 200; round++) {
      await acquireAndRelease(provider, configuration)
    }
  },
  'releases the lock at the end of `await using`': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const lock = await acquire(provider, configuration)
    await lock[Symbol.asyncDispose]()
    await expectFree(environment, configuration.name)
    await lock[Symbol.asyncDispose]()
  },
  'does not let a late holder release the lock of its successor': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const late = await acquire(provider, { ...configuration, lockAtMostFor: '2s' })
    await untilFree(environment, configuration.name)
    const successor = await acquire(provider, configuration)
    await late.unlock()
    await expectHeld(environment, configuration.name)
    await successor.unlock()
  },
  'does not let a late holder with a lockAtLeastFor change the lease of its successor': async (
    environment,
  ) => {
    const { provider, configuration } = await prepare(environment)
    const late = await acquire(provider, { ...configuration, lockAtMostFor: '2s', lockAtLeastFor: '2s' })
    await untilFree(environment, configuration.name)
    const successor = await acquire(provider, { ...configuration, lockAtMostFor: '2s' })
    await late.unlock()
    await untilFree(environment, configuration.name)
    assert.equal(successor.remaining(), 0, 'the lock was free while its holder still considered it held')
  },
  'does not let a late holder extend the lock of its successor': async (environment) => {
    const { provider, configuration } = await prepare(environment, { lockAtMostFor: '2s' })
    const late = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    const successor = await acquire(provider, { ...configuration, lockAtMostFor: '2s' })
    await expectLockError(late.extend('5m'), 'LOCK_LOST')
    assert(successor.remaining() <= 2_000)
    await untilFree(environment, configuration.name)
  },
  'does nothing when a lock is released twice': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const lock = await acquire(provider, configuration)
    await lock.unlock()
    const successor = await acquire(provider, configuration)
    await lock.unlock()
    await expectHeld(environment, configuration.name)
    await successor.unlock()
  },
  'distinguishes names that differ only in case, accents or composition': async (environment) => {
    const provider = await environment.createProvider()
    const suffix = randomUUID()
    for (const name of ['Job', 'job', 'jób', 'jo\u0301b', 'JOB', 'ﬀ', 'ff', 'ß', 'ss']) {
      await acquire(provider, newConfiguration({ name: `${name} ${suffix}` }))
    }
  },
  ...Object.fromEntries(
    HOSTILE_NAMES.map((hostile) => [
      `has locks with a name such as ${hostile}`,
      async (environment: LockProviderEnvironment) => {
        const name = `${hostile} ${randomUUID().slice(0, 8)}`
        const lock = await acquire(await environment.createProvider(), newConfiguration({ name }))
        await expectHeld(environment, name)
        await lock.unlock()
        await expectFree(environment, name)
      },
    ]),
  ),
  'distinguishes names of 64 characters that differ only in the last one': async (environment) => {
    const provider = await environment.createProvider()
    const start = `${randomUUID()}${'ň'.repeat(64)}`.slice(0, 63)
    for (const end of 'ab') {
      await acquireAndRelease(provider, newConfiguration({ name: `${start}${end}` }))
      await acquire(provider, newConfiguration({ name: `${start}${end}` }))
    }
  },
  ...Object.fromEntries(
    Object.entries({
      'of 65 characters': 'x'.repeat(65),
      'of 150 characters': 'x'.repeat(150),
      'that is empty': '',
      'that ends with a space': 'job ',
      'that begins with a space': ' job',
      'with a line break': 'a\nb',
      'with a NUL character': 'a\0b',
      'with half of a surrogate pair': 'a\ud83d',
    }).map(([which, name]) => [
      `refuses a name ${which}`,
      async (environment: LockProviderEnvironment) => {
        const provider = await environment.createProvider()
        await expectLockError(provider.lock(newConfiguration({ name })), 'INVALID_CONFIGURATION')
      },
    ]),
  ),
}
