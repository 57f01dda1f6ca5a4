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
  none: '',
  release: '',
  end: ', on another connection',
  'end sparingly': '; the connection is closed, unless many were lately',
  'leave its server': ', on another connection',
}
const REPEATS: Readonly<Record<Handling['repeat'], string>> = {
  soon: 'sent again',
  later: 'sent again',
  'later, if repeatable': 'sent again, if it is harmless',
  never: 'not sent again',
}

/** Returns the page with the list as the code has it now. */
export function pageWithFailures(): string {
  const page = readFileSync(join(__dirname, '..', PAGE), 'utf8')
  const items = Object.values(FAILURES).map(({ when, repeat, session, error }) => {
    const told = error(new DriverError('CODE', 'message'), { timeLimit: 5_000 })
    const code =
      told instanceof LockError ? `\`${told.code}\`` : '`DATABASE_ERROR`, or what is wrong with the table'
    return `- **${when}** (${code}): ${REPEATS[repeat]}${SESSIONS[session]}`
  })
  const written = [BEGIN, ...items, '', END].join('\n')
  return page.slice(0, page.indexOf(BEGIN)) + written + page.slice(page.indexOf(END) + END.length)
}

if (require.main === module) writeFileSync(join(__dirname, '..', PAGE), pageWithFailures())
