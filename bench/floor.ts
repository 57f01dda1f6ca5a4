import { contenderName } from './names'
import type { Operation } from './operation'
import type { BenchDatabase, RawClient } from './raw-clients'
import { rawLock } from './statements'

export const RAW = 'raw driver'
export const READ = 'read one row'
/** The statements of a lock, sent by hand through a client. */
export const byHand = (client: string): string => `${client}, our statements`
export const OUR_STATEMENTS = byHand(RAW)

export const isByHand = (who: string): boolean => who.endsWith(byHand(''))
/** Through a client of ours. They are the floor of its lock, and no row of a table or chart for users. */
export const isFloorOfClient = (who: string): boolean => isByHand(who) && who !== OUR_STATEMENTS

/** What tables and charts call an operation: it says what the raw driver did. */
export function displayName({ scenario, who }: { scenario: string; who: string }): string {
  if (isByHand(who)) return `the same statements, ${who.slice(0, -byHand('').length)}`
  return who === RAW && scenario === READ ? 'a bare read, raw driver' : contenderName(who)
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
