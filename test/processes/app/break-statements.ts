import {
  dialects,
  tableSql,
  render,
  type Dialect,
  type DialectName,
  type LockColumn,
  type Sql,
} from '../../../src/sql/internal'

/** Stands for a placeholder. */
const HOLE = '\0'
const PARAMETER = `(?:\\$\\d+|${HOLE})(?:::varchar)?|@P?\\d+|:\\d+|\\?`

/** The parts of the library that can be removed, to show that the checker notices. */
export const BREAKS = ['owner', 'expiry', 'clock', 'extend', 'unlock', 'guard', 'busy'] as const
export type Break = (typeof BREAKS)[number]

/** The faults that reveal each break. */
export const REVEALING: Readonly<Record<Break, readonly string[]>> = {
  owner: ['pause beyond the lease', 'event loop blocked'],
  expiry: ['pause beyond the lease', 'event loop blocked'],
  clock: ['pause beyond the lease', 'event loop blocked'],
  extend: ['request delayed', 'answer lost'],
  unlock: ['request delayed'],
  guard: ['pause before a guarded commit'],
  busy: ['table locked'],
}

/** How to write a literal time in databases that do not follow standard SQL. */
const TIME: Partial<Record<DialectName, (time: string) => string>> = {
  sqlite: (time) => `'${time}'`,
  mssql: (time) => `cast('${time}' as datetime2(3))`,
}

/** Returns the statement that a broken build would send. No break changes the order of the values. */
export function breakStatement(broken: Break | undefined, { name }: Dialect, statement: Sql): Sql {
  return { ...statement, pieces: breakStatements(broken, name)(statement.pieces.join(HOLE)).split(HOLE) }
}

/** Returns a function that rewrites a statement into the one that a broken build would send. */
export function breakStatements(
  broken: Break | undefined,
  dialectName: DialectName,
): (text: string) => string {
  const dialect = dialects[dialectName]
  const now = render(dialect.now)
  const names = tableSql(dialect)
  const column = (name: LockColumn): string => render(names[name])
  const onlyLocks =
    (rewrite: (text: string) => string) =>
    (text: string): string =>
      text.includes(render(names.table)) ? rewrite(text) : text

  switch (broken) {
    // A late holder can release and prolong the lock of its successor.
    case 'owner':
      return onlyLocks((text) => {
        const where = text.indexOf(' where ')
        if (/^(insert|declare) /.test(text) || where < 0) return text
        const condition = new RegExp(`and ${escaped(column('lockedBy'))} = (${PARAMETER})`)
        return text.slice(0, where) + text.slice(where).replace(condition, 'and $1 is not null')
      })
    // A held lock can be acquired.
    case 'expiry':
      return onlyLocks((text) => {
        const lockUntil = escaped(column('lockUntil'))
        const held = new RegExp(`(max\\(${lockUntil}\\)|${lockUntil}) > ${escaped(now)}`, 'g')
        // Do not change a holder's own check that it still holds the row.
        const asksWhetherHeld =
          /^(insert|select|with) /.test(text) && !text.includes(`${column('lockedBy')} = `)
        const asksToAcquire = asksWhetherHeld || /^(insert|declare) /.test(text)
        return (asksToAcquire ? text.replace(held, '1 = 0') : text).replace(
          new RegExp(`(held\\.)?${escaped(`${column('lockUntil')} <= ${now}`)}`),
          '1 = 1',
        )
      })
    // Each process uses its own clock.
    case 'clock':
      return onlyLocks((text) => {
        const time = new Date().toISOString().replace('T', ' ').replace('Z', '')
        return text.replaceAll(now, TIME[dialectName]?.(time) ?? `timestamp '${time}'`)
      })
    // An extension can also shorten the lease.
    case 'extend':
      return onlyLocks((text) => text.replace(` > ${column('lockUntil')} then`, ' is not null then'))
    // A release leaves the owner unchanged, so that a late extension finds the row.
    case 'unlock':
      return onlyLocks((text) => {
        const takes = text.includes(`${column('lockedAt')} = `)
        const newOwner = new RegExp(`(, ${escaped(column('lockedBy'))}) = (${PARAMETER})`)
        return takes ? text : text.replace(newOwner, `$1 = coalesce(${column('lockedBy')}, $2)`)
      })
    // The clients break these two: guard() does nothing, and a busy database counts as a refusal.
    case 'guard':
    case 'busy':
    case undefined:
      return (text) => text
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
