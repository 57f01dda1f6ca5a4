import { expect, it } from '@jest/globals'
import { refusals } from '../../test/sql/grammar-refusals'
import { wordsOf } from './words'

it('The grammars of SQL Server and Oracle accept the tables and the triggers', () => {
  const texts = (['mssql', 'oracle'] as const).flatMap((grammar) => {
    const { ownTables, lockTable } = wordsOf(grammar)
    return [...ownTables, ...lockTable].map((text) => ({
      // Oracle's grammar does not parse triggers, but does parse the statements in them.
      text: grammar === 'oracle' ? text.replace(/^create trigger.* begin\s+(.*);\s+end;$/s, '$1') : text,
      grammar,
    }))
  })
  const refused = refusals(texts)
  expect(texts.filter((_, index) => refused[index] !== null)).toEqual([])
})
