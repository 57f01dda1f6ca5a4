import { describe, expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/dialects'
import { read, root } from '../project'
import { node } from '../run-node'

const [, dialectsOfPage = ''] = /\n## Dialects\n(.*?)\n## /s.exec(read('docs/works-with.md')) ?? []
/** The codes that are listed below each heading. */
const listed = dialectsOfPage.split('\n### ').map((section) => {
  const codes = (kind: string): string[] => {
    const [, list = ''] = new RegExp(`${kind}: ([^.]*)\\.`).exec(section.replace(/\s+/g, ' ')) ?? []
    return [...list.matchAll(/\b(?:ORA-)?[\dP]{2,6}\b|\b\d(?= \()/g)].map(([code]) => code).sort()
  }
  return { retried: codes('Retried'), readOnly: codes('Read-only') }
})

describe('docs/works-with.md', () => {
  it('has the tables that npm run works-with writes', () => {
    node(root, 'scripts/write-works-with.mjs', '--check')
  })

  // The page describes those of CockroachDB and SQLite in words.
  it.each(Object.values(dialects).filter(({ name }) => !/cockroachdb|sqlite/.test(name)))(
    'lists the errors after which $name is asked again',
    ({ transientErrors, readOnlyErrors }) => {
      expect(listed).toContainEqual({
        retried: Object.keys(transientErrors).sort(),
        readOnly: Object.keys(readOnlyErrors).sort(),
      })
    },
  )
})
