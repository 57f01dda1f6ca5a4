import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LockError } from '../src/core/errors'
import { FAILURES, type Handling } from '../src/sql/failures'
import { DriverError } from '../src/sql/session'

/** The page that shows what the library does about each failure, and where. */
export const PAGE = 'docs/guides/failover.md'
const BEGIN = '<!-- What follows is written by `npm run generate`. -->\n'
const END = '<!-- The end of what is written. -->'

const SESSIONS: Readonly<Record<Handling['session'], string>> = {
  none: '–',
  release: 'goes back to its pool',
  end: 'is closed',
  'end sparingly': 'is closed, if few were lately',
  leave: 'is closed, and its server left',
}
const REPEATS: Readonly<Record<Handling['repeat'], string>> = {
  always: 'yes',
  'if harmless': 'a read, an extension, a release: yes',
  never: 'no',
}

/** Returns the page with the table as the code has it now. */
export function pageWithFailures(): string {
  const page = readFileSync(join(__dirname, '..', PAGE), 'utf8')
  const rows = Object.values(FAILURES).map(({ when, repeat, interval, session, error }) => {
    const told = error(new DriverError('CODE', 'message'), { timeLimit: 5_000 })
    const code =
      told instanceof LockError ? `\`${told.code}\`` : '`DATABASE_ERROR`, or what is wrong with the table'
    const within = interval === 'short' ? 'within 0.25 s' : 'within 1 s'
    return [when, repeat === 'never' ? 'no' : `${REPEATS[repeat]}, ${within}`, SESSIONS[session], code]
  })
  const table = [['What happened', 'Sent again?', 'The connection', 'Error, if it lasts'], ...rows]
  const width = (column: number): number => Math.max(...table.map((row) => row[column]?.length ?? 0))
  const padded = table.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(width(column))).join(' | ')} |`,
  )
  const line = padded[0]?.replace(/[^|]/g, '-').replace(/-(?=\|)|(?<=\|)-/g, ' ') ?? ''
  const written = [BEGIN, padded[0], line, ...padded.slice(1), '', END].join('\n')
  return page.slice(0, page.indexOf(BEGIN)) + written + page.slice(page.indexOf(END) + END.length)
}

if (require.main === module) writeFileSync(join(__dirname, '..', PAGE), pageWithFailures())
