import { randomUUID } from 'node:crypto'
import {
  acquire,
  acquireAndRelease,
  expectFree,
  expectHeld,
  expectRefused,
  newConfiguration,
  prepare,
} from './expectations'
import type { Cases } from './lock-provider-environment'

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

/** Cases about who is kept out: every caller, of this lock alone, until it is released. */
export const exclusionCases: Cases = {
  'acquires a lock, refuses it to every instance while it is held, and releases it': async (environment) => {
    const { provider, other, configuration } = await prepare(environment)
    const lock = await acquire(provider, configuration)
    await expectHeld(environment, configuration.name)
    for (const instance of [provider, other]) await expectRefused(instance, configuration)
    await lock.unlock('succeeded')
    await expectFree(environment, configuration.name)
    await acquireAndRelease(other, configuration)
  },
  'is never refused in 200 acquisitions right after a release': async (environment) => {
    const { provider, other, configuration } = await prepare(environment)
    for (let round = 0; round < 100; round++)
      for (const instance of [provider, other]) await acquireAndRelease(instance, configuration)
  },
  'keeps locks of different names apart': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const first = await acquire(provider, configuration)
    const second = newConfiguration()
    await acquire(provider, second)
    await first.unlock(undefined)
    await expectHeld(environment, second.name)
  },
  'distinguishes names that differ only in case, accents or composition': async (environment) => {
    const provider = await environment.createProvider()
    const suffix = randomUUID()
    for (const name of ['Job', 'job', 'jób', 'jo\u0301b', 'JOB', 'ﬀ', 'ff', 'ß', 'ss'])
      await acquire(provider, newConfiguration({ name: `${name} ${suffix}` }))
  },
  'distinguishes names of 64 characters that differ only in the last one': async (environment) => {
    const provider = await environment.createProvider()
    const start = `${randomUUID()}${'ň'.repeat(64)}`.slice(0, 63)
    for (const end of 'ab') await acquire(provider, newConfiguration({ name: `${start}${end}` }))
  },
  'has locks with names that are SQL, placeholders, escapes or not ASCII': async (environment) => {
    const provider = await environment.createProvider()
    for (const hostile of HOSTILE_NAMES) {
      const name = `${hostile} ${randomUUID().slice(0, 8)}`
      const lock = await acquire(provider, newConfiguration({ name }))
      await expectHeld(environment, name)
      await lock.unlock(undefined)
      await expectFree(environment, name)
    }
  },
}
