import type { DialectName as Grammar } from '@guanmingchiu/sqlparser-ts'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/dialects'
import type { Dialect, DialectName } from '../../src/sql/dialect'
import { tableSql } from '../../src/sql/names'
import { render } from '../../src/sql/sql'
import { lockStatements } from '../../src/sql/statements'
import { tableDefinition } from '../../src/sql/table/definition'
import { refusals } from './grammar-refusals'
import { tableReads } from './table-reads'

/**
 * For servers that are not to be had everywhere: whether somebody else's grammar knows these statements. What it does
 * not know is left out by name; it is seen to run elsewhere.
 */
const GRAMMARS: Readonly<
  Partial<Record<DialectName, { grammar: Grammar; unknown?: RegExp; without?: RegExp } | 'not needed'>>
> = {
  // PostgreSQL's statements.
  cockroachdb: 'not needed',
  mysql: { grammar: 'mysql', unknown: /^pin$/ },
  mssql: {
    grammar: 'mssql',
    // A hint of an insert: https://learn.microsoft.com/sql/t-sql/statements/insert-transact-sql
    without: /(?<=insert into \S+) with \(nowait\)/,
  },
  oracle: { grammar: 'oracle' },
  hana: { grammar: 'ansi' },
  // BigQuery's GoogleSQL: the same language, but it has no keys behind a table's columns.
  spanner: { grammar: 'bigquery', unknown: /^table definition 1$/ },
}

function textsOf(dialect: Dialect): Record<string, string> {
  const table = tableSql(dialect)
  const { acquire, acquireSlot, pause, pin, ...rest } = lockStatements(dialect, table)
  const { up, down } = tableDefinition(dialect)
  const statements = [
    ...acquire.map(({ statement }, index) => [`acquire ${index + 1}`, statement] as const),
    ...acquireSlot.map(({ statement }, index) => [`acquire a slot ${index + 1}`, statement] as const),
    ['pin', pin.statement] as const,
    ['pause', pause[0].statement] as const,
    ...Object.entries({ ...rest, ...tableReads(dialect) }),
  ]
  return Object.fromEntries([
    ...statements.map(([title, statement]) => [title, render(statement, dialect.driver.placeholder)]),
    ...[...up, ...down].map((text, index) => [`table definition ${index + 1}`, text]),
  ]) as Record<string, string>
}

const cases = Object.values(dialects).flatMap((known) => {
  const { name: dialect } = known
  const { [dialect]: checkedBy = 'not needed' } = GRAMMARS
  if (checkedBy === 'not needed') return []
  const { grammar, unknown = /^$/, without = /^$/ } = checkedBy
  const texts = textsOf(known)
  const checked = Object.entries(texts).filter(([title]) => !unknown.test(title))
  const broken = (texts['extend'] ?? '').replace(' set ', ' sett ')
  return {
    dialect,
    grammar,
    titles: checked.map(([title]) => title),
    texts: [...checked.map(([, text]) => text.replace(without, '')), broken],
  }
})
/** By dialect. */
const refused = new Map<DialectName, (string | null)[]>()

beforeAll(() => {
  // At once: to load the grammars takes longest.
  const all = refusals(cases.flatMap(({ texts, grammar }) => texts.map((text) => ({ text, grammar }))))
  for (const { dialect, texts } of cases) refused.set(dialect, all.splice(0, texts.length))
})

describe.each(cases)('$dialect is $grammar', ({ dialect, titles }) => {
  it.each(titles)('%s', (title) => {
    expect(refused.get(dialect)?.[titles.indexOf(title)]).toBeNull()
  })

  it('and would not be if one of its words were wrong', () => {
    expect(refused.get(dialect)?.at(-1)).toMatch(/parser error/)
  })
})
