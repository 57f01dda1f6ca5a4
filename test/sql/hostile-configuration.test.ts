import fc from 'fast-check'
import { describe, expect, it } from '@jest/globals'
import { LockError, parseLockConfiguration } from '../../src/core/internal'
import { drivers } from '../../src/drivers/drivers'
import { sqlClient } from '../../src/drivers/sql-client'
import { dialects, lockStatements, type LockValues, render, tableSql } from '../../src/sql/internal'
import { tableReads } from './table-reads'
import { senderOf } from '../statement-sender'

const HOSTILE = `'";\`[]()-- /*\\%_\0\n\t $1?@P1:x äñ😀\u0300\u202e\ufeff`
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(...Array.from(HOSTILE)), maxLength: 80 }),
  fc.constantFrom("'; drop table shedlock; --", '" or 1=1 --', '${name}', '$1', '?', ':lock', ''),
)
const anything = fc.oneof(fc.anything(), anyText, fc.double(), fc.bigInt())

/** The value, or the code of the `LockError`; any other error fails the property. */
function attempt<T>(work: () => T): T | { refused: string } {
  try {
    return work()
  } catch (error) {
    if (error instanceof LockError) return { refused: error.code }
    throw error
  }
}

it('whatever is given as a configuration is valid or refused', () => {
  const key = fc.constantFrom('name', 'lockAtMostFor', 'lockAtLeastFor', '__proto__')
  const value = fc.oneof(anything, fc.integer({ min: 0, max: 1_000 }), fc.constantFrom('1m', '5s', 'job'))
  fc.assert(
    fc.property(fc.oneof(fc.dictionary(key, value), fc.anything()), (configuration) => {
      const checked = attempt(() => parseLockConfiguration(configuration as never).configuration)
      if ('refused' in checked) expect(checked.refused).toBe('INVALID_CONFIGURATION')
      else {
        const { name, lockAtMostFor, lockAtLeastFor } = checked
        expect(name).toBe((configuration as { name: unknown }).name)
        expect(Number.isSafeInteger(lockAtMostFor) && Number.isSafeInteger(lockAtLeastFor)).toBe(true)
        expect(lockAtMostFor).toBeGreaterThan(0)
        expect(lockAtLeastFor >= 0 && lockAtLeastFor <= lockAtMostFor).toBe(true)
      }
    }),
    { numRuns: 500 },
  )
})

describe.each(Object.values(dialects))('On $name', (dialect) => {
  it('an identifier is quoted, or refused: nothing of it gets out of its quotes', () => {
    const quoted = dialect.quote('x')
    const [open, close] = [quoted.slice(0, 1), quoted.slice(-1)]
    fc.assert(
      fc.property(anyText, (identifier) => {
        const table = attempt(() => tableSql(dialect, { tableName: identifier }))
        if ('refused' in table) return
        const text = render(table.table)
        expect(text.startsWith(open) && text.endsWith(close)).toBe(true)
        const inside = text.slice(1, -1)
        expect(inside.replaceAll(close + close, '')).not.toContain(close)
        expect(inside.replaceAll(close + close, close)).toBe(identifier)
      }),
      { numRuns: 300 },
    )
  })

  it('a name and an owner are bound, or written into the SQL as hexadecimal digits', async () => {
    let sent: { text: string; bound: unknown[] } | undefined
    const executor = senderOf(
      sqlClient(drivers.mysql, (text, bound) => {
        sent = { text, bound }
        return Promise.resolve({ rows: [], changed: 0 })
      }),
    )
    const { acquire, acquireSlot, pause, pin, ...rest } = lockStatements(dialect, tableSql(dialect))
    const steps = [...acquire, ...acquireSlot, pause[0], pin]
    const statements = [
      ...steps.map(({ statement }) => statement),
      ...Object.values({ ...rest, ...tableReads(dialect) }),
    ]
    for (const statement of statements) {
      await fc.assert(
        fc.asyncProperty(anyText, anyText, async (name, lockedBy) => {
          const values: Required<LockValues> = {
            ...{ name, lockedBy, unlockedBy: lockedBy, seenBy: lockedBy, schema: null, table: 't' },
            ...{ lockAtMostFor: 1, keepFor: 1, unexpired: 1, slot: 1, seenUntil: 1, seenAt: 1 },
          }
          await executor.query(statement, values)
          const bound = statement.parameters.map((parameter) => values[parameter as keyof LockValues])
          const isBound = (value: unknown): boolean => !/[^ -~]|["'\\]/.test(String(value))
          const text = render(statement, (position) => {
            const value = bound[position]
            return isBound(value) ? '?' : `_utf8mb4 x'${Buffer.from(String(value)).toString('hex')}'`
          })
          expect(sent).toEqual({ text: drivers.mysql.settled?.(text), bound: bound.filter(isBound) })
        }),
        { numRuns: 20 },
      )
    }
  })
})
