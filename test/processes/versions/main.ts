import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHAOS_DIALECTS } from '../chaos/words'
import { number, oneOf, parse, runHarness, WrongUsage } from '../options'
import { packRevision, revisionBefore } from './pack-revision'
import { runVersions } from './run-versions'

const USAGE = `npm run two-versions -- v0.1.0 [HEAD] [--db ${CHAOS_DIALECTS.join('|')}]... [--url URL] [--minutes 5]`

/** Packs two revisions of the package, and lets processes of both work on one table. */
void runHarness(USAGE, async (args) => {
  const { values, positionals } = parse(args, {
    db: { type: 'string', multiple: true, default: ['postgres', 'sqlite'] },
    url: { type: 'string' },
    minutes: { type: 'string', default: '5' },
  })
  const [before = revisionBefore(), after = 'HEAD'] = positionals
  if (before === undefined) throw new WrongUsage('There is no release before this revision.')
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
      if (verdict.violations.length > 0) process.exitCode = 1
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
