import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHAOS_DIALECTS } from '../chaos/words'
import { number, oneOf, parse, runHarness } from '../options'
import { packRevision, revisionBefore } from './pack-revision'
import { runVersions } from './run-versions'

const USAGE = `npm run two-versions -- v0.1.0 [HEAD] [--db ${CHAOS_DIALECTS.join('|')}]... [--url URL] [--minutes 5]`

/** Without each of these, a version showed nothing about the rows of the other. */
const DEEDS = ['acquired', 'slot', 'paused', 'read']

/** Packs two revisions of the package, and lets processes of both work on one table. */
void runHarness(USAGE, async (args) => {
  const { values, positionals } = parse(args, {
    db: { type: 'string', multiple: true, default: ['postgres', 'sqlite'] },
    url: { type: 'string' },
    minutes: { type: 'string', default: '5' },
  })
  const [before = revisionBefore(), after = 'HEAD'] = positionals
  if (before === undefined) {
    console.log('Skipped: this clone has no release before this revision – fetch its history, or name one.')
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-two-versions-'))
  const folders = { before: join(folder, 'before'), after: join(folder, 'after') }
  try {
    packRevision(before, folders.before)
    packRevision(after, folders.after)
    for (const db of values.db.map(oneOf(CHAOS_DIALECTS))) {
      const milliseconds = number(values.minutes) * 60_000
      const verdict = await runVersions(folders, db, { milliseconds, url: values.url })
      const violations = verdict.violations.slice(0, 10)
      console.log(JSON.stringify({ ...verdict, violations, broken: verdict.violations.length }, undefined, 2))
      const isIdle = (version: string): boolean =>
        DEEDS.some((deed) => !(verdict.figures[version]?.[deed] ?? 0))
      const idle = Object.keys(folders).filter(isIdle)
      if (idle.length > 0)
        console.error(`Too short: ${idle.join(' and ')} did not do all of ${DEEDS.join(', ')}.`)
      if (violations.length > 0 || idle.length > 0) process.exitCode = 1
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
