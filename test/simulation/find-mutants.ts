/**
 * Breaks the lock in a copy of the project, in one way after another, and prints when the simulation noticed:
 * `npx tsx test/simulation/find-mutants.ts [part of a title …]`. Fails if it did not notice.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { BrokenCopy } from '../../scripts/broken-copy'
import { mutants, type Mutant } from './mutants'

interface Report {
  readonly simulated: number
  readonly worlds: number
  readonly seconds: number
  readonly violation?: { readonly property: string }
}

const copy = new BrokenCopy()
const program = join(copy.path, 'test/simulation/run.mjs')
const SECONDS = process.env['SECONDS'] ?? '60'

function runWith(mutant: Mutant): Report {
  return copy.whileBroken(mutant, () => {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [program, '--json', '--seed', '1', '--seconds', SECONDS, '--worlds', '1000'],
      { cwd: copy.path, encoding: 'utf8' },
    )
    const last = stdout.trim().split('\n').at(-1) ?? ''
    if (!last.startsWith('{')) throw new Error(stderr)
    return JSON.parse(last) as Report
  })
}

const parts = process.argv.slice(2)
try {
  for (const mutant of mutants) {
    if (parts.length > 0 && !parts.some((part) => `${mutant.what}: ${mutant.breaks}`.includes(part))) continue
    const { violation, simulated, worlds, seconds } = runWith(mutant)
    if (!violation) process.exitCode = 1
    const found = violation ? `${violation.property}, after` : 'NOT NOTICED in'
    console.log(
      `${mutant.what}: ${mutant.breaks}: ${found} ${Math.round(simulated / 1_000)} simulated s, ${worlds} worlds, ${Math.round(seconds)} s`,
    )
  }
} finally {
  copy.remove()
}
