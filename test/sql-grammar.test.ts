import { Parser } from 'node-sql-parser'
import { expect, it } from 'vitest'
import { dialects, lockStatements, lockTable, spell, tableDefinition, type DialectName } from '../src/sql'
import { insertNew, takeExpired } from '../src/sql/lock-statements'
import { PLACEHOLDERS } from '../src/typeorm/placeholders'

/**
 * For servers that are not to be had everywhere: whether somebody else's grammar knows these statements. What it does
 * not know is left out by name; the other dialects run on their servers in the other tests.
 */
const GRAMMARS: { dialect: DialectName; grammar: string; unknown: readonly string[] }[] = [
  { dialect: 'mysql', grammar: 'MySQL', unknown: [] },
  // It knows no IF around an INSERT, and not the hint REPEATABLEREAD.
  { dialect: 'mssql', grammar: 'TransactSQL', unknown: ['acquire 1', 'pin'] },
]

for (const { dialect: name, grammar, unknown } of GRAMMARS) {
  const dialect = dialects[name]
  const table = lockTable(dialect)
  const { acquire, pin, ...rest } = lockStatements(dialect, table)
  const inside = { takeExpired: takeExpired(dialect, table), insertNew: insertNew(dialect, table), pin }
  const steps = {
    ...Object.fromEntries(acquire.map((step, index) => [`acquire ${index + 1}`, step])),
    ...inside,
  }
  const statements = {
    ...rest,
    ...Object.fromEntries(Object.entries(steps).map(([title, { statement }]) => [title, statement])),
  }
  const texts = Object.entries(statements).map(
    ([title, statement]) => [title, spell(statement, PLACEHOLDERS[name]).text] as const,
  )
  const { up, down } = tableDefinition(dialect)
  const definitions = [...up, ...down].map((text, index) => [`table definition ${index + 1}`, text] as const)
  const known = [...texts, ...definitions].filter(([title]) => !unknown.includes(title))

  it.for(known)(`${name}: $0 is ${grammar}`, ([, text]) => {
    expect(() => new Parser().astify(text, { database: grammar })).not.toThrow()
  })
}
