import { randomUUID } from 'node:crypto'
import { expectFree, expectHeld, expectLockError, newConfiguration, take } from './expectations'
import type { LockProviderEnvironment } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

const HOSTILE = [
  `'; drop table shedlock; --`,
  `" or "1"="1`,
  '`name`',
  String.raw`back\slash \' \0 %s %_`,
  '$1 ? :name @0 #{name} ${name}',
  'null',
  'Žluťoučký kůň 漢字 🔒',
  '-- /* comment */',
]

export const nameCases: readonly CaseDefinition<LockProviderEnvironment>[] = [
  {
    title: 'takes names that differ only in case, accents or composition for different locks',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const suffix = randomUUID()
      for (const name of ['Job', 'job', 'jób', 'jo\u0301b', 'JOB', 'ﬀ', 'ff', 'ß', 'ss']) {
        await take(provider, newConfiguration({ name: `${name} ${suffix}` }))
      }
    },
  },
  ...HOSTILE.map((hostile): CaseDefinition<LockProviderEnvironment> => ({
    title: `takes ${hostile} for a name like any other`,
    run: async (environment) => {
      const name = `${hostile} ${randomUUID().slice(0, 8)}`
      const lock = await take(await environment.createProvider(), newConfiguration({ name }))
      await expectHeld(environment, name)
      await lock.unlock()
      await expectFree(environment, name)
    },
  })),
  {
    title: 'takes names of 64 characters that differ only in the last one',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const start = `${randomUUID()}${'ň'.repeat(64)}`.slice(0, 63)
      for (const end of 'ab') {
        const lock = await take(provider, newConfiguration({ name: `${start}${end}` }))
        await lock.unlock()
        await take(provider, newConfiguration({ name: `${start}${end}` }))
      }
    },
  },
  ...Object.entries({
    'of 65 characters': 'x'.repeat(65),
    'of 150 characters': 'x'.repeat(150),
    'that is empty': '',
    'with a blank at its end': 'job ',
    'with a blank at its beginning': ' job',
    'with a line break': 'a\nb',
    'with a zero': 'a\0b',
    'with half of a surrogate pair': 'a\ud83d',
  }).map(([which, name]): CaseDefinition<LockProviderEnvironment> => ({
    title: `refuses a name ${which}`,
    run: async (environment) => {
      const provider = await environment.createProvider()
      await expectLockError(provider.lock(newConfiguration({ name })), 'INVALID_CONFIGURATION')
    },
  })),
]
