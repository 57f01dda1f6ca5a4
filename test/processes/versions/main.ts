import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { ChaosDialect } from '../chaos/words'
import { packRevision, revisionBefore } from './pack-revision'
import { runVersions } from './run-versions'

/** Packs two revisions of the package, and lets processes of both work on one table. */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      db: { type: 'string', multiple: true, default: ['postgres', 'sqlite'] },
      /** Of a server that is there already, for a single database. */
      url: { type: 'string' },
      minutes: { type: 'string', default: '5' },
    },
  })
  const [before = revisionBefore(), after = 'HEAD'] = positionals
  if (before === undefined)
    throw new Error('npm run two-versions -- v0.1.0 [HEAD] [--db postgres] [--minutes 5]')
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-two-versions-'))
  const folders = { before: join(folder, 'before'), after: join(folder, 'after') }
  try {
    packRevision(before, folders.before)
    packRevision(after, folders.after)
    for (const db of values.db) {
      const milliseconds = Number(values.minutes) * 60_000
      const verdict = await runVersions(folders, db as ChaosDialect, {
        milliseconds,
        url: values.url,
      })
      const violations = verdict.violations.slice(0, 10)
      console.log(JSON.stringify({ ...verdict, violations, broken: verdict.violations.length }, undefined, 2))
      if (verdict.violations.length > 0) process.exitCode = 1
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

void main()
