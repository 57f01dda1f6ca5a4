import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  dialects,
  lockStatements,
  lockTable,
  spell,
  tableDefinition,
  type Dialect,
  type LockTableOptions,
  type Statement,
} from '../src/sql'

const names: Readonly<Record<string, LockTableOptions>> = {
  'Default names': {},
  'Custom names': {
    schema: 'app',
    tableName: 'JobLock',
    columnNames: { name: 'id', lockUntil: 'until', lockedAt: 'at', lockedBy: 'Who' },
  },
}

/** The statements in the order of a lock's life, each value under its name. */
function statementsOf(dialect: Dialect, options: LockTableOptions): string {
  const text = (statement: Statement): string =>
    spell(statement, (position) => `:${String(statement.parameters[position])}`).text
  const { acquire, pin, ...others } = lockStatements(dialect, lockTable(dialect, options))
  const definition = tableDefinition(dialect, options)
  const entries = [
    ...definition.up.map((statement): [string, string] => ['create table', statement]),
    ...acquire.map(({ kind, statement }, index): [string, string] => [
      `acquire, step ${index + 1}: ${kind}`,
      text(statement),
    ]),
    ...Object.entries(others).map(([name, statement]): [string, string] => [name, text(statement)]),
    [`pin: ${pin.kind}`, text(pin.statement)],
    ...definition.down.map((statement): [string, string] => ['drop table', statement]),
  ]
  return entries.map(([name, statement]) => `-- ${name}\n${statement};\n`).join('\n')
}

// To accept a change: UPDATE_GOLDEN=1 npx vitest run test/golden.test.ts
it.for(Object.values(dialects))('says to $name what it said before', (dialect) => {
  const file = join(__dirname, 'golden', `${dialect.name}.sql`)
  const sql = Object.entries(names)
    .map(([which, options]) => `---------- ${which}\n\n${statementsOf(dialect, options)}`)
    .join('\n')
  if (process.env['UPDATE_GOLDEN']) writeFileSync(file, sql)
  expect(sql).toBe(readFileSync(file, 'utf8'))
})
