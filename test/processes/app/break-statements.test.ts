import { describe, expect, it } from '@jest/globals'
import { drivers } from '../../../src/drivers/internal'
import { dialects, lockStatements, tableSql, render } from '../../../src/sql/internal'
import { refusals } from '../../sql/grammar-refusals'
import { breakStatements, type Break } from './break-statements'
import { chaosTables } from '../chaos/url-database'

const DIALECTS = ['postgres', 'mariadb', 'mysql', 'sqlite', 'cockroachdb', 'mssql', 'oracle'] as const
type Name = (typeof DIALECTS)[number]

function statementsOf(name: Name): [title: string, text: string][] {
  const { acquire, extend, release, fencingToken } = lockStatements(dialects[name], tableSql(dialects[name]))
  const all = { extend, release, fencingToken }
  return [...acquire.map(({ statement }) => ['acquire', statement] as const), ...Object.entries(all)].map(
    ([title, statement]) => [title, render(statement, drivers[name].placeholder)],
  )
}

function broken(what: Break, name: Name): [title: string, text: string][] {
  const rewrite = breakStatements(what, name)
  return statementsOf(name).flatMap(([title, text]) => {
    const worse = rewrite(text)
    return worse === text ? [] : [[title, worse]]
  })
}

const CHANGED: [Break, string[]][] = [
  ['owner', ['extend', 'release', 'fencingToken']],
  ['expiry', ['acquire']],
  ['clock', ['acquire', 'extend', 'release', 'fencingToken']],
  ['extend', ['extend']],
  ['unlock', ['release']],
]

describe.each(CHANGED)('--break %s changes', (what, titles) => {
  it.each(DIALECTS)('on %s', (name) => {
    const changed = broken(what, name).map(([title]) => title)
    expect([...new Set(changed)]).toEqual(titles)
  })
})

it('The grammars of SQL Server and Oracle accept each broken statement, the tables and the triggers', () => {
  const texts = (['mssql', 'oracle'] as const).flatMap((grammar) => {
    const statements = CHANGED.flatMap(([what]) => broken(what, grammar).map(([, text]) => text))
    // Oracle's grammar does not parse triggers, but does parse the statements in them.
    const tables = chaosTables(grammar).map((text) =>
      grammar === 'oracle' ? text.replace(/^create trigger.* begin\s+(.*);\s+end;$/s, '$1') : text,
    )
    return [...statements, ...tables].map((text) => ({ text, grammar }))
  })
  const refused = refusals(texts)
  expect(texts.filter((_, index) => refused[index] !== null)).toEqual([])
})
