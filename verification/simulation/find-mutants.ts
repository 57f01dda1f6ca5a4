import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Break } from '../mutations/broken-copy'
import { brokenProgram } from '../mutations/broken-program'
import { mutants } from './mutants'

interface Report {
  readonly simulated: number
  readonly worlds: number
  readonly seconds: number
  readonly violation?: { readonly property: string }
}

/** Simulates one world after another with a broken lock, until that is noticed. */
export function simulateBroken(broken: Break, seconds: string): Report {
  const { stdout } = spawnSync(
    process.execPath,
    [brokenProgram(join(__dirname, 'main.ts'), [broken]), '--json', '--seed', '1', '--seconds', seconds],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  )
  return JSON.parse(stdout) as Report
}

/**
 * Breaks the lock in one way after another, and prints when the simulation noticed:
 * `npx tsx verification/simulation/find-mutants.ts [part of a title …]`. Fails if it did not notice.
 */
if (require.main === module) {
  const parts = process.argv.slice(2)
  const isChosen = ({ breaks }: Break) => parts.length === 0 || parts.some((part) => breaks.includes(part))
  const chosen = mutants.filter(isChosen)
  if (chosen.length === 0) throw new Error(`No way to break the lock has ${parts.join(' or ')} in its title.`)
  for (const mutant of chosen) {
    const report = simulateBroken(mutant, process.env['SECONDS'] ?? '60')
    const { violation, simulated, worlds, seconds } = report
    if (!violation) process.exitCode = 1
    const found = violation ? `${violation.property}, after` : 'NOT NOTICED in'
    console.log(
      `${mutant.breaks}: ${found} ${Math.round(simulated / 1_000)} simulated s, ${worlds} worlds, ${Math.round(seconds)} s`,
    )
  }
}
