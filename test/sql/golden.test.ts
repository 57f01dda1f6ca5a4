import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import {
  dialects,
  lockStatements,
  tableSql,
  render,
  tableDefinition,
  type Dialect,
  type LockTableOptions,
  type Sql,
} from '../../src/sql/internal'
import type { AcquireStep } from '../../src/sql/acquire'
import { tableFixes, tableReads } from './table-fixes'

/** Names that nothing else has, so that a statement with a name of its own is seen. */
const CUSTOM: LockTableOptions = {
  schema: 'app',
  tableName: 'JobLock',
  columnNames: { name: 'id', lockUntil: 'until', lockedAt: 'at', lockedBy: 'Who' },
}

/** Each clause has a line of its own, so that a change of SQL shows what it changes. */
const CLAUSE =
  / ((?:select|(?<!extract\(\w+ )from|where|and|or|set|values|returning|on conflict|do update|case|when|else|union all|begin|if|end;|insert into)\b)/g

/** The statements in the order of a lock's life, each value under its name. */
function statementsOf(dialect: Dialect, options: LockTableOptions): string[] {
  const text = (statement: Sql): string =>
    render(statement, (position) => `:${String(statement.parameters[position])}`).replaceAll(CLAUSE, '\n  $1')
  const { acquire, acquireSlot, pin, ...others } = lockStatements(dialect, tableSql(dialect, options))
  const steps = (title: string, all: readonly AcquireStep[]): [string, string][] =>
    all.map(({ answer, statement }, index) => [`${title}, step ${index + 1}: ${answer}`, text(statement)])
  const definition = tableDefinition(dialect, options)
  const entries = [
    ...definition.up.map((statement): [string, string] => ['create table', statement]),
    ...steps('acquire', acquire),
    ...steps('acquire a slot', acquireSlot),
    ...Object.entries({ ...others, ...tableReads(dialect, options) }).map(
      ([name, statement]): [string, string] => [name, text(statement)],
    ),
    [`pin: ${pin.kind}`, text(pin.statement)],
    ...definition.down.map((statement): [string, string] => ['drop table', statement]),
    ...tableFixes(dialect, options).map((statement): [string, string] => ['fix', statement]),
  ]
  return entries.map(([name, statement]) => `-- ${name}\n${statement};\n`)
}

/** A statement with the custom names, as it has to be with the default ones. */
function withDefaultNames(dialect: Dialect, statement: string): string {
  const cased = (name: string): string => (dialect.upperCaseNames ? name.toUpperCase() : name)
  return Object.entries({ id: 'name', until: 'lock_until', at: 'locked_at', Who: 'locked_by' }).reduce(
    (text, [custom, byDefault]) => text.replaceAll(dialect.quote(custom), dialect.quote(cased(byDefault))),
    statement.replaceAll(`${dialect.quote('app')}.`, '').replaceAll('JobLock', cased('shedlock')),
  )
}

// To accept a change: UPDATE_GOLDEN=1 npx jest test/sql/golden.test.ts
it.each(Object.values(dialects))('sends the same SQL to $name as before', (dialect) => {
  // MariaDB is told what MySQL is told.
  const file = join(__dirname, 'golden', `${dialect.name === 'mariadb' ? 'mysql' : dialect.name}.sql`)
  const custom = statementsOf(dialect, CUSTOM)
  const expected = custom.map((statement) => withDefaultNames(dialect, statement))
  const byDefault = statementsOf(dialect, {})
  const sections = {
    'Custom names': custom,
    'Default names, where more than the names differs': byDefault.filter((one) => !expected.includes(one)),
    'Only with custom names': custom.filter((_, index) => !byDefault.includes(expected[index] ?? '')),
  }
  const sql = Object.entries(sections)
    .map(([which, statements]) => `---------- ${which}\n\n${statements.join('\n')}`)
    .join('\n')
  if (process.env['UPDATE_GOLDEN']) writeFileSync(file, sql)
  expect(sql).toBe(readFileSync(file, 'utf8'))
})
