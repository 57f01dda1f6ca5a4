/**
 * Breaks the lock in a copy of the project, in one way after the other, and tells when the simulation noticed:
 * `npx tsx test/simulation/find-mutants.ts [part of a title …]`. Fails when it did not.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mutants, type Mutant } from './mutants'

interface Report {
  readonly simulated: number
  readonly worlds: number
  readonly acquisitions: number
  readonly seconds: number
  readonly seed?: number
  readonly violation?: { readonly property: string; readonly message: string }
}

const project = join(__dirname, '../..')
const copy = mkdtempSync(join(tmpdir(), 'shedlock-simulate-'))
const SECONDS = process.env['SECONDS'] ?? '60'
for (const part of ['src', 'test/simulation', 'test/processes/chaos/random.ts', 'scripts', 'package.json'])
  cpSync(join(project, part), join(copy, part), { recursive: true })
symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'))

function runWith({ file, find, replace }: Mutant): Report {
  const path = join(copy, file)
  const original = readFileSync(path, 'utf8')
  if (!original.includes(find))
    throw new Error(`${file} no longer has '${find}' – correct test/simulation/mutants.ts.`)
  writeFileSync(
    path,
    original.replaceAll(find, () => replace),
  )
  try {
    const program = join(copy, 'test/simulation/run.mjs')
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [program, '--json', '--seed', '1', '--seconds', SECONDS, '--worlds', '1000'],
      { cwd: copy, encoding: 'utf8' },
    )
    const last = stdout.trim().split('\n').at(-1) ?? ''
    if (!last.startsWith('{')) throw new Error(stderr)
    return JSON.parse(last) as Report
  } finally {
    writeFileSync(path, original)
  }
}

const wanted = process.argv.slice(2)
try {
  for (const mutant of mutants) {
    if (wanted.length > 0 && !wanted.some((part) => `${mutant.what}: ${mutant.breaks}`.includes(part)))
      continue
    const { violation, simulated, worlds, acquisitions, seconds } = runWith(mutant)
    if (!violation) process.exitCode = 1
    const found = violation
      ? `${violation.property}, after ${Math.round(simulated)} simulated s`
      : `NOT NOTICED in ${Math.round(simulated)} simulated s`
    console.log(
      `| ${mutant.what} | ${mutant.breaks} | ${found} | ${acquisitions} acquisitions, ${worlds} worlds, ${seconds} s |`,
    )
  }
} finally {
  rmSync(copy, { recursive: true })
}
