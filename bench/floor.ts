import type { Dialect } from '../src/sql/internal'
import type { Operation } from './operation'
import type { BenchDatabase, RawClient, RunRaw } from './raw-clients'
import { rawLock } from './statements'

export const RAW = 'raw driver'
export const OUR_STATEMENTS = 'raw driver, our statements'
export const READ = 'read one row'

/** What the page calls an operation: it says what the raw driver did. */
export function displayName({ scenario, who }: { scenario: string; who: string }): string {
  if (who === OUR_STATEMENTS) return 'the same statements, raw driver'
  return who === RAW && scenario === READ ? 'a bare read, raw driver' : who
}

/**
 * The least that a lock could cost: one read by primary key, one write by primary key, and our bare statements. All of them are
 * prepared, so that the server does not plan them each time.
 */
export function floorOperations(
  { dialect, placeholder }: BenchDatabase,
  tableName: string,
  { run, runPrepared = run }: RawClient,
): Operation[] {
  const [one, two] = [placeholder(0), placeholder(1)]
  const lock = rawLock(dialect, tableName, placeholder, runPrepared)
  let count = 0
  return [
    {
      scenario: READ,
      who: RAW,
      run: () => runPrepared(`select lock_until from ${tableName} where name = ${one}`, ['held']),
    },
    {
      scenario: 'write one row',
      who: RAW,
      run: () =>
        runPrepared(`update ${tableName} set locked_by = ${one} where name = ${two}`, [
          `floor ${String(count++)}`,
          'write',
        ]),
    },
    { scenario: 'lose', who: OUR_STATEMENTS, run: lock.lose },
    { scenario: 'win + release', who: OUR_STATEMENTS, run: () => lock.winAndRelease('floor') },
  ]
}

/** Alternatives to our statements. docs/performance.md explains why they were rejected. */
export function alternativeOperations(
  { dialect, placeholder, alternatives }: BenchDatabase,
  tableName: string,
  { run, runPrepared }: RawClient,
): Operation[] {
  const operations = (what: string, change: Partial<Dialect>, how: RunRaw): Operation[] => {
    const lock = rawLock({ ...dialect, ...change }, tableName, placeholder, how)
    const who = `${RAW}, ${what}`
    return [
      { scenario: 'lose', who, run: lock.lose },
      { scenario: 'win + release', who, run: () => lock.winAndRelease('floor') },
    ]
  }
  const others = Object.entries(alternatives).flatMap(([what, change]) =>
    operations(what, change, runPrepared ?? run),
  )
  if (!runPrepared) return others
  const read = `select lock_until from ${tableName} where name = ${placeholder(0)}`
  return [
    ...others,
    ...operations('our statements not prepared', {}, run),
    { scenario: 'read one row', who: `${RAW}, not prepared`, run: () => run(read, ['held']) },
  ]
}
