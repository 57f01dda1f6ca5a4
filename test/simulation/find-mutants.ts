/**
 * Breaks the lock in one way after another, and prints when the simulation noticed:
 * `npx tsx test/simulation/find-mutants.ts [part of a title …]`. Fails if it did not notice.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { program } from '../processes/program'
import { mutants } from './mutants'

interface Report {
  readonly simulated: number
  readonly worlds: number
  readonly seconds: number
  readonly violation?: { readonly property: string }
}

const { SECONDS = '60' } = process.env
const OPTIONS = ['--json', '--seed', '1', '--seconds', SECONDS, '--worlds', '1000']

const parts = process.argv.slice(2)
for (const mutant of mutants) {
  if (parts.length > 0 && !parts.some((part) => mutant.breaks.includes(part))) continue
  const broken = program(join(__dirname, 'main.ts'), [mutant])
  const { stdout } = spawnSync(process.execPath, [broken, ...OPTIONS], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { violation, simulated, worlds, seconds } = JSON.parse(stdout) as Report
  if (!violation) process.exitCode = 1
  const found = violation ? `${violation.property}, after` : 'NOT NOTICED in'
  console.log(
    `${mutant.breaks}: ${found} ${Math.round(simulated / 1_000)} simulated s, ${worlds} worlds, ${Math.round(seconds)} s`,
  )
}
