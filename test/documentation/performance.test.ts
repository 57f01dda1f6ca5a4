import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { Results } from '../../bench/results'
import { statementShapes } from '../../bench/statement-shapes'
import { dialects } from '../../src/sql/internal'

const docs = join(__dirname, '../../docs')
const { databases, measured } = JSON.parse(
  readFileSync(join(docs, 'performance/results.json'), 'utf8'),
) as Results

describe('docs/performance.md', () => {
  it.each(Object.entries(databases))(
    'has figures of the statements that a lock sends on %s',
    (name, results) => {
      expect(results.statements).toEqual(statementShapes(dialects[name as keyof typeof dialects]))
    },
  )

  it('is drawn from the results', () => {
    const page = readFileSync(join(docs, 'performance.md'), 'utf8')
    expect(page).toContain(measured.date)
    expect(page).toContain(measured.commit)
  })
})
