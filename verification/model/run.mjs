/**
 * `npm run model`: checks exclusion.pml with spin, breaks it in each way that its head lists, and compares how each fails with
 * failures.txt. `--large` checks only the large model, `--write` rewrites that file, and a word selects the mutants whose names
 * contain it, and prints the shortest path to each failure. See verification/README.md.
 */
import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'

const here = import.meta.dirname
const MODEL = 'exclusion.pml'
const { values: options, positionals: words } = parseArgs({
  options: { large: { type: 'boolean' }, write: { type: 'boolean' } },
  allowPositionals: true,
})
const run = promisify(execFile)

const missing = ['spin', 'cc'].filter((program) => {
  try {
    execFileSync(program, [program === 'spin' ? '-V' : '--version'], { stdio: 'ignore' })
  } catch {
    return true
  }
})
if (missing.length > 0) {
  console.log(
    `Skipped: ${missing.join(' and ')} not found – on Debian and Ubuntu, run apt-get install spin gcc.`,
  )
  process.exit()
}

/** The checks that are listed at the head of the model. */
const CHECK = /^ \* (safety|mutant)(?: (\w+))?(, large)?((?: -D\S+)*): /gm
const checks = [...readFileSync(join(here, MODEL), 'utf8').matchAll(CHECK)]
  .map(([, kind, title = 'exclusion', large, flags]) => ({
    title,
    isMutant: kind === 'mutant',
    large: large !== undefined,
    flags: [...flags.split(' ').filter(Boolean), ...(kind === 'mutant' ? [`-D${title}`] : [])],
  }))
  .filter(
    ({ large, title }) => large === Boolean(options.large) && words.every((word) => title.includes(word)),
  )

/** Searches all states of the model, or, for a mutant, the shortest path to a failure. */
async function check({ title, isMutant, flags }) {
  const cwd = mkdtempSync(join(tmpdir(), 'model-'))
  try {
    copyFileSync(join(here, MODEL), join(cwd, MODEL))
    await run('spin', [...flags, '-a', MODEL], { cwd })
    const search = isMutant ? ['-O0', '-DBFS', '-DNOREDUCE'] : ['-O2', '-DCOLLAPSE']
    await run('cc', ['-w', '-DSAFETY', ...search, '-o', 'pan', 'pan.c'], { cwd })
    const started = performance.now()
    const { stdout } = await run('./pan', ['-E', '-m1000000', '-w22'], { cwd, maxBuffer: 2 ** 28 })
    const seconds = (performance.now() - started) / 1000
    if (!stdout.includes('errors:') || stdout.includes('search depth too small')) throw new Error(stdout)
    const steps = stdout.includes('errors: 0') ? [] : await failingSteps(flags, cwd)
    const [, states] = /([\d.e+]+) states, stored/.exec(stdout) ?? []
    const outcome = steps.length > 0 ? `fails in ${steps.length} steps` : 'holds'
    console.log(
      title.padEnd(24),
      `${Number(states).toLocaleString('en')} states,`,
      `${seconds.toFixed(1)} s:`,
      outcome,
    )
    if (steps.length > 0 && (!isMutant || words.length > 0)) console.log(steps.join('\n'))
    return { title, isMutant, failure: /^WRONG: (.*)/.exec(steps.at(-1))?.[1] }
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

/** Returns what the model prints on the path that was found. */
async function failingSteps(flags, cwd) {
  const { stdout } = await run('spin', [...flags, '-t', '-T', '-B', MODEL], { cwd, maxBuffer: 2 ** 28 })
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(spin: |#|\d+ processes created)/.test(line))
}

const results = []
const queue = [...checks.entries()]
await Promise.all(
  Array.from({ length: Math.min(2, availableParallelism()) }, async () => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await check(next[1])
  }),
)

const stored = join(here, 'failures.txt')
const failures = results.flatMap(({ title, failure }) => (failure ? [`${title}: ${failure}`] : []))
if (options.write && !options.large && words.length === 0) writeFileSync(stored, `${failures.join('\n')}\n`)
const expected = readFileSync(stored, 'utf8').split('\n')
const wrong = [
  ...results.filter(({ isMutant, failure }) => isMutant !== Boolean(failure)).map(({ title }) => title),
  ...failures.filter((failure) => !expected.includes(failure)),
]
for (const what of wrong)
  console.error(`Not as in ${stored} – to accept it, npm run model -- --write: ${what}`)
if (wrong.length > 0) process.exitCode = 1
