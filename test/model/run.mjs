/**
 * `npm run model`: checks the models in this folder with spin, breaks them in each way that their heads list, and compares how each
 * fails with failures.txt. `--large` checks only the large models, `--write` rewrites that file, and a word selects the models and
 * mutants whose names contain it, and prints the shortest path to each failure. See docs/maintainers/model.md.
 */
import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'

const here = import.meta.dirname
const { values: options, positionals: words } = parseArgs({
  options: { large: { type: 'boolean' }, write: { type: 'boolean' } },
  allowPositionals: true,
})
const CHECK = /^ \* (safety|liveness|mutant|limit)(?: (\w+))?(?: of (\w+))?(, large)?((?: -D\S+)*): /gm

/** Returns the checks that are listed at the head of a model. */
function checksOf(file) {
  return [...readFileSync(join(here, file), 'utf8').matchAll(CHECK)].map(
    ([, kind, name, of, large, flags]) => ({
      file,
      title: [basename(file, '.pml'), name].filter(Boolean).join(' '),
      mustFail: kind === 'mutant' || kind === 'limit',
      claim: kind === 'liveness' ? name : of,
      large: large !== undefined,
      flags: [
        ...flags.split(' ').filter(Boolean),
        ...(kind === 'mutant' || kind === 'limit' ? [`-D${name}`] : []),
      ],
    }),
  )
}

/** A search depth that no model reaches. */
const DEEPEST = 1_000_000
const run = promisify(execFile)
const number = (text, pattern) => Number(pattern.exec(text)?.[1] ?? NaN)

/** Searches all states of a model, or, for a mutant, the shortest path to a failure. */
async function check({ file, title, mustFail, claim, flags }) {
  const cwd = mkdtempSync(join(tmpdir(), 'model-'))
  try {
    copyFileSync(join(here, file), join(cwd, file))
    await run('spin', [...flags, '-a', file], { cwd })
    const safety = mustFail ? ['-DBFS', '-DNOREDUCE'] : ['-DCOLLAPSE']
    const liveness = mustFail ? ['-DREACH'] : ['-DCOLLAPSE']
    const kind = claim ? ['-DNFAIR=3', ...liveness] : ['-DSAFETY', '-DNOCLAIM', ...safety]
    await run('cc', [mustFail ? '-O0' : '-O2', '-w', ...kind, '-o', 'pan', 'pan.c'], { cwd })
    const search = claim ? ['-a', '-f', '-N', claim] : ['-E']
    const started = performance.now()
    let stdout
    // A liveness failure cannot be searched breadth first, so increase the depth until it fails: the path is then nearly the
    // shortest.
    for (let depth = claim && mustFail ? 30 : DEEPEST; ; depth = Math.min(DEEPEST, Math.ceil(depth * 1.1))) {
      const pan = ['./pan', [...search, `-m${depth}`, '-w22']]
      stdout = (await run(...pan, { cwd, maxBuffer: 2 ** 28 })).stdout
      if (depth === DEEPEST || !stdout.includes('errors: 0')) break
    }
    const seconds = (performance.now() - started) / 1000
    if (!stdout.includes('errors:') || (!mustFail && /search depth too small/.test(stdout)))
      throw new Error(stdout)
    const hasFailed = !stdout.includes('errors: 0')
    const steps = hasFailed ? await pathOf(file, flags, cwd) : []
    const states = number(stdout, /([\d.e+]+) states, stored/).toLocaleString('en')
    const memory = Math.ceil(number(stdout, /([\d.]+)\s+total actual memory/))
    console.log(
      [title, ...flags].join(' ').padEnd(60),
      `${states} states, ${seconds.toFixed(1)} s, ${memory} MB:`,
      hasFailed ? `fails in ${steps.length} steps` : 'holds',
    )
    if (hasFailed && (!mustFail || words.length > 0)) console.log(steps.join('\n'))
    // A mutant that fails for ever reaches no line with WRONG.
    const failure = /^WRONG: (.*)/.exec(steps.at(-1))?.[1] ?? `never ${claim}`
    return { title, failure: `${title}: ${failure}`, isAsExpected: hasFailed === mustFail }
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

/** Returns what the model prints on the path that was found. */
async function pathOf(file, flags, cwd) {
  const { stdout } = await run('spin', [...flags, '-t', '-T', '-B', file], { cwd, maxBuffer: 2 ** 28 })
  const lines = stdout
    .split('\n')
    .map((line) => line.trim().replace(/^<+START OF CYCLE>+$/, 'and this repeats for ever:'))
    .filter((line) => line !== '' && !/^(ltl |spin: |#|\d+ processes created|Never claim moves)/.test(line))
  return lines.flatMap((line, index) => {
    if (line === lines[index - 1]) return []
    const after = lines.slice(index).findIndex((next) => next !== line)
    const times = after < 0 ? lines.length - index : after
    return times > 1 ? `${line} (${times} times)` : line
  })
}

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

const files = readdirSync(here).filter((file) => file.endsWith('.pml'))
const queue = files
  .flatMap(checksOf)
  .filter(
    ({ large, title }) => large === Boolean(options.large) && words.every((word) => title.includes(word)),
  )
const inOrder = [...queue]
const results = new Map()
// A large model takes gigabytes of memory, so check one at a time.
const lanes = options.large ? 1 : Math.min(2, availableParallelism())
await Promise.all(
  Array.from({ length: lanes }, async () => {
    for (let next = queue.shift(); next; next = queue.shift()) results.set(next, await check(next))
  }),
)

const fail = (message) => {
  process.exitCode = 1
  console.error(message)
}
const stored = join(here, 'failures.txt')
const failures = inOrder.filter(({ mustFail }) => mustFail).map((one) => results.get(one).failure)
if (options.write && !options.large && words.length === 0) writeFileSync(stored, `${failures.join('\n')}\n`)
const expected = readFileSync(stored, 'utf8').split('\n')
for (const failure of failures.filter((found) => !expected.includes(found)))
  fail(`Differs from the failure in ${stored} – to accept it, npm run model -- --write: ${failure}`)
for (const { title, isAsExpected } of results.values())
  if (!isAsExpected) fail(`${title} does not hold or fail as expected.`)
