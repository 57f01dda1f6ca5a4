import type { Break } from '../mutations/broken-copy'
import { mutants } from '../simulation/mutants'

const mutant = (title: string): readonly Break[] => mutants.filter(({ breaks }) => breaks === title)

/** The parts of the library that `--break` removes, to show that the referee notices: what is replaced in the source. */
export const BREAKS = {
  owner: mutant('a release and an extension do not check the owner'),
  expiry: [
    {
      breaks: 'a held lock is acquired',
      file: 'src/sql/statements.ts',
      find: 'acquire: dialect.acquire(lock)',
      replace: 'acquire: dialect.acquire({ ...lock, now: lock.leaseEnd })',
    },
  ],
  clock: [
    {
      breaks: 'each process uses its own clock',
      file: 'src/sql/statements.ts',
      find: 'const lock = lockSql(dialect, tableSql)',
      replace:
        "dialect = { ...dialect, now: dialect.plus(dialect.epoch, parameter('ownClock')) }\n  const lock = lockSql(dialect, tableSql)",
    },
    {
      breaks: 'each process sends its own clock',
      file: 'src/sql/calls.ts',
      find: 'session.execute(statement, values, wants)',
      replace: 'session.execute(statement, { ownClock: Date.now(), ...values }, wants)',
    },
  ],
  extend: mutant('an extension shortens the lease'),
  unlock: mutant('a release is not final, because it leaves the owner'),
  guard: mutant('the guard does not check that the lock is held'),
  busy: mutant('a busy database is reported as held'),
} as const satisfies Record<string, readonly Break[]>
export type BreakName = keyof typeof BREAKS

/** The faults that reveal each break. */
export const REVEALING: Readonly<Record<BreakName, readonly string[]>> = {
  owner: ['pause beyond the lease', 'event loop blocked'],
  expiry: ['pause beyond the lease', 'event loop blocked'],
  clock: ['pause beyond the lease', 'event loop blocked'],
  extend: ['request delayed', 'answer lost'],
  unlock: ['request delayed'],
  guard: ['pause before a guarded commit'],
  busy: ['table locked'],
}
