import { spawnSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/internal'
import { read, root } from '../project'

const worksWith = read('docs/works-with.md')

/** Where the page describes each dialect. */
const HEADINGS = {
  postgres: 'PostgreSQL',
  cockroachdb: 'CockroachDB',
  mysql: 'MySQL and MariaDB',
  mariadb: 'MySQL and MariaDB',
  sqlite: 'SQLite',
  mssql: 'SQL Server',
  oracle: 'Oracle',
  hana: 'SAP HANA',
  spanner: 'Spanner',
} satisfies Record<keyof typeof dialects, string>

describe('docs/works-with.md', () => {
  it('has the tables that npm run works-with writes', () => {
    const { stderr, status } = spawnSync('node', ['scripts/write-works-with.mjs', '--check'], {
      cwd: root,
      encoding: 'utf8',
    })
    expect({ stderr: status === 0 ? '' : stderr }).toEqual({ stderr: '' })
  })

  // The page describes those of CockroachDB and SQLite in words.
  it.each(Object.keys(dialects).filter((name) => !/cockroachdb|sqlite/.test(name)))(
    'lists the errors after which %s is asked again',
    (name) => {
      const { transientErrors, readOnlyErrors } = dialects[name as keyof typeof dialects]
      const heading = HEADINGS[name as keyof typeof dialects]
      const [, section = ''] = worksWith.split(`\n### ${heading}\n`)
      const [own = ''] = section.split('\n#')
      const listed = (kind: string): string[] => {
        const [, list = ''] = new RegExp(`${kind}: ([^.]*)\\.`).exec(own.replace(/\s+/g, ' ')) ?? []
        return [...list.matchAll(/\b(?:ORA-)?[\dP]{2,6}\b|\b\d(?= \()/g)].map(([code]) => code)
      }
      expect(listed('Retried').sort()).toEqual(Object.keys(transientErrors).sort())
      if (Object.keys(readOnlyErrors).length > 0)
        expect(listed('Read-only').sort()).toEqual(Object.keys(readOnlyErrors).sort())
    },
  )
})
