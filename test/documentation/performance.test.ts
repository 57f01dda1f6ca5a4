import { describe, expect, it } from '@jest/globals'
import { statementShapes, type StatementShapes } from '../../bench/statement-shapes'
import { dialects } from '../../src/sql/internal'
import { read } from '../project'

const { databases, measured } = JSON.parse(read('docs/performance/results.json')) as {
  databases: Record<string, { statements: StatementShapes }>
  measured: { date: string; commit: string }
}

/** Databases on which statements have changed since: empty after the next measurement. */
const CHANGED_SINCE: readonly string[] = ['postgres', 'mariadb', 'mysql']

describe('docs/performance.md', () => {
  it.each(Object.entries(databases))(
    'has figures of the statements that a lock sends on %s',
    (name, results) => {
      const sent = statementShapes(dialects[name as keyof typeof dialects])
      // The page says so where a statement has changed since its figures were measured.
      const hasChanged = JSON.stringify(sent) !== JSON.stringify(results.statements)
      expect(hasChanged).toBe(CHANGED_SINCE.includes(name))
    },
  )

  it('is drawn from the results', () => {
    const page = read('docs/performance.md')
    expect(page.includes('has changed since these measurements')).toBe(CHANGED_SINCE.length > 0)
    expect(page).toContain(measured.date)
    expect(page).toContain(measured.commit)
  })
})
