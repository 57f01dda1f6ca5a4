import { describe, expect, it } from '@jest/globals'
import { statementShapes, type StatementShapes } from '../../bench/statement-shapes'
import { dialects } from '../../src/sql/dialects'
import { read } from '../project'

const { databases, measured } = JSON.parse(read('docs/performance/results.json')) as {
  databases: Record<string, { statements: StatementShapes }>
  measured: { date: string; commit: string }
}

describe('docs/performance.md', () => {
  it.each(Object.entries(databases))('has figures of the statements of a lock on %s', (name, results) => {
    expect(statementShapes(dialects[name as keyof typeof dialects])).toEqual(results.statements)
  })

  it('is drawn from the results', () => {
    const page = read('docs/performance.md')
    expect(page).toContain(measured.date)
    expect(page).toContain(measured.commit)
  })
})
