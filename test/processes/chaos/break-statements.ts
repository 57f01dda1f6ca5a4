import { dialects, tableSql, render, type LockColumn } from '../../../src/sql/internal'
import type { WorkerConnection } from './chaos-database'

const PARAMETER = '\\$\\d+(?:::varchar)?|@P?\\d+|:\\d+|\\?'

/** What to take out of the library, to see that the checker would notice. */
export const BREAKS = ['owner', 'expiry', 'clock', 'extend', 'unlock', 'guard', 'busy'] as const
export type Break = (typeof BREAKS)[number]

/** The faults that bring it to light. */
export const REVEALING: Readonly<Record<Break, readonly string[]>> = {
  owner: ['pause beyond the lease', 'event loop blocked'],
  expiry: ['pause beyond the lease', 'event loop blocked'],
  clock: ['pause beyond the lease', 'event loop blocked'],
  extend: ['request delayed', 'answer lost'],
  unlock: ['request delayed'],
  guard: ['pause before a guarded commit'],
  busy: ['table locked'],
}

/** A time as text, where it is not standard SQL. */
const TIME: Partial<Record<WorkerConnection['dialect'], (time: string) => string>> = {
  sqlite: (time) => `'${time}'`,
  mssql: (time) => `cast('${time}' as datetime2(3))`,
}

/** Gives each statement as the broken build would have said it. */
export function breakStatements(
  broken: Break | undefined,
  dialectName: WorkerConnection['dialect'],
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
    // Any late holder frees and prolongs the lock of its successor.
    case 'owner':
      return onlyLocks((text) => {
        const where = text.indexOf(' where ')
        if (/^(insert|declare) /.test(text) || where < 0) return text
        const condition = new RegExp(`${escaped(column('lockedBy'))} = (${PARAMETER})`)
        return text.slice(0, where) + text.slice(where).replace(condition, '$1 is not null')
      })
    // A held lock can be taken.
    case 'expiry':
      return onlyLocks((text) => {
        const lockUntil = escaped(column('lockUntil'))
        const held = new RegExp(`(max\\(${lockUntil}\\)|${lockUntil}) > ${escaped(now)}`, 'g')
        // A holder that looks whether the row is still its own says so.
        const asksWhetherHeld =
          /^(insert|select|with) /.test(text) && !text.includes(`${column('lockedBy')} = `)
        const asksToAcquire = asksWhetherHeld || /^(insert|declare) /.test(text)
        return (asksToAcquire ? text.replace(held, '1 = 0') : text).replace(
          new RegExp(`(held\\.)?${escaped(`${column('lockUntil')} <= ${now}`)}`),
          '1 = 1',
        )
      })
    // Each process computes with a clock of its own.
    case 'clock':
      return onlyLocks((text) => {
        const time = new Date().toISOString().replace('T', ' ').replace('Z', '')
        return text.replaceAll(now, TIME[dialectName]?.(time) ?? `timestamp '${time}'`)
      })
    // An extension shortens the lease too.
    case 'extend':
      return onlyLocks((text) => text.replace(` > ${column('lockUntil')} then`, ' is not null then'))
    // An unlock leaves the owner as it was, so that a late extension finds the row.
    case 'unlock':
      return onlyLocks((text) => {
        const takes = text.includes(`${column('lockedAt')} = `)
        const newOwner = new RegExp(`(, ${escaped(column('lockedBy'))}) = (${PARAMETER})`)
        return takes ? text : text.replace(newOwner, `$1 = coalesce(${column('lockedBy')}, $2)`)
      })
    // These two are broken elsewhere.
    case 'guard':
    case 'busy':
    case undefined:
      return (text) => text
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
