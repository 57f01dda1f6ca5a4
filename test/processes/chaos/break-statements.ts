import { dialects, spell } from '../../../src/sql'
import type { WorkerConnection } from './chaos-database'

const PARAMETER = '\\$\\d+(?:::varchar)?|\\?'

/** What to take out of the library, to see that the checker would notice. */
export const BREAKS = ['owner', 'expiry', 'clock', 'extend', 'unlock', 'guard'] as const
export type Break = (typeof BREAKS)[number]

/** The faults that bring it to light. */
export const REVEALING: Readonly<Record<Break, readonly string[]>> = {
  owner: ['pause beyond the lease', 'event loop blocked'],
  expiry: ['pause beyond the lease', 'event loop blocked'],
  clock: ['pause beyond the lease', 'event loop blocked'],
  extend: ['request delayed', 'answer lost'],
  unlock: ['request delayed'],
  guard: ['pause before a guarded commit'],
}

/** Gives each statement as the broken build would have said it. */
export function breakStatements(
  broken: Break | undefined,
  dialectName: WorkerConnection['dialect'],
): (text: string) => string {
  const dialect = dialects[dialectName]
  const now = spell(dialect.now, () => '?').text
  const column = (name: string): string => dialect.quote(name)
  const onlyLocks =
    (rewrite: (text: string) => string) =>
    (text: string): string =>
      text.includes(dialect.quote('shedlock')) ? rewrite(text) : text

  switch (broken) {
    // Any late holder frees and prolongs the lock of its successor.
    case 'owner':
      return onlyLocks((text) => {
        const where = text.indexOf(' where ')
        if (text.startsWith('insert') || where < 0) return text
        const condition = new RegExp(`${escaped(column('locked_by'))} = (${PARAMETER})`)
        return text.slice(0, where) + text.slice(where).replace(condition, '$1 is not null')
      })
    // A held lock can be taken.
    case 'expiry':
      return onlyLocks((text) => {
        const held = `${column('lock_until')} > ${now}`
        const asksWhetherHeld = text.startsWith('insert') || /^select 1 (?!.*locked_by)/.test(text)
        return (asksWhetherHeld ? text.replace(held, '1 = 0') : text).replace(
          new RegExp(`(held\\.)?${escaped(`${column('lock_until')} <= ${now}`)}`),
          '1 = 1',
        )
      })
    // Each process computes with a clock of its own.
    case 'clock':
      return onlyLocks((text) => {
        const time = new Date().toISOString().replace('T', ' ').replace('Z', '')
        return text.replaceAll(now, dialectName === 'sqlite' ? `'${time}'` : `timestamp '${time}'`)
      })
    // An extension shortens the lease too.
    case 'extend':
      return onlyLocks((text) => text.replace(` > ${column('lock_until')} then`, ' is not null then'))
    // An unlock leaves the owner as it was, so that a late extension finds the row.
    case 'unlock':
      return onlyLocks((text) => {
        const takes = text.includes(`${column('locked_at')} = `)
        const newOwner = new RegExp(`(, ${escaped(column('locked_by'))}) = (${PARAMETER})`)
        return takes ? text : text.replace(newOwner, `$1 = coalesce(${column('locked_by')}, $2)`)
      })
    case 'guard':
    case undefined:
      return (text) => text
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
