import type { Dialect } from 'shedlock-orm/sql'
import type { Operation } from './operation'
import type { BenchDatabase, RunRaw } from './raw-clients'
import { rawLock } from './statements'

export const RAW = 'raw driver'
export const OUR_STATEMENTS = 'raw driver, our statements'

/** The least that a lock could cost: one read by primary key, one write by primary key, and our statements bare. */
export function floorOperations(
  { dialect, placeholder }: BenchDatabase,
  tableName: string,
  run: RunRaw,
): Operation[] {
  const [one, two] = [placeholder(0), placeholder(1)]
  const lock = rawLock(dialect, tableName, placeholder, run)
  let count = 0
  return [
    {
      scenario: 'read one row',
      who: RAW,
      run: () => run(`select lock_until from ${tableName} where name = ${one}`, ['held']),
    },
    {
      scenario: 'write one row',
      who: RAW,
      run: () =>
        run(`update ${tableName} set locked_by = ${one} where name = ${two}`, [
          `floor ${String(count++)}`,
          'write',
        ]),
    },
    { scenario: 'lose', who: OUR_STATEMENTS, run: lock.lose },
    { scenario: 'win + release', who: OUR_STATEMENTS, run: () => lock.winAndRelease('floor') },
  ]
}

/** What our statements could be instead, and why they are not: see docs/performance.md. */
export function alternativeOperations(
  { dialect, placeholder, alternatives }: BenchDatabase,
  tableName: string,
  run: RunRaw,
  runPrepared: RunRaw | undefined,
): Operation[] {
  const operations = (what: string, change: Partial<Dialect>, how: RunRaw): Operation[] => {
    const lock = rawLock({ ...dialect, ...change }, tableName, placeholder, how)
    const who = `${RAW}, ${what}`
    return [
      { scenario: 'lose', who, run: lock.lose },
      { scenario: 'win + release', who, run: () => lock.winAndRelease('floor') },
    ]
  }
  const others = Object.entries(alternatives).flatMap(([what, change]) => operations(what, change, run))
  if (!runPrepared) return others
  const read = `select lock_until from ${tableName} where name = ${placeholder(0)}`
  return [
    ...others,
    ...operations('our statements prepared by name', {}, runPrepared),
    { scenario: 'read one row', who: `${RAW}, prepared by name`, run: () => runPrepared(read, ['held']) },
  ]
}
