/**
 * `npm run check [step …]`: style, types, lint, public interface and quick tests, all at once. Prints each step as soon as it has ended, and
 * what is wrong first.
 *
 * A step that passed before is left out until one of its files changes, and the tests are those that the changed files concern. CI
 * remembers nothing: there, everything runs.
 */
import { spawn, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const isCi = Boolean(process.env.CI)
const CACHE = 'node_modules/.cache'
const MEMORY = `${CACHE}/check.json`
const CODE = /\.([cm]?[jt]sx?|vue|json|prisma)$/
/** Tests that import these read files of the project, which Jest does not know. They are run after any change. */
const READ_FILES = ['test/project.ts', 'test/architecture.test.ts']

/** What each step runs, and the files that it depends on. */
const STEPS = {
  format: {
    files: /./,
    command: () => [
      'prettier',
      '--check',
      '--log-level=warn',
      '.',
      ...cached('prettier', '--cache-strategy=content'),
    ],
  },
  types: { files: CODE, command: () => [process.execPath, 'scripts/check-types.mjs'] },
  lint: {
    files: CODE,
    command: () => ['oxlint', ...notInstalled().map((folder) => `--ignore-pattern=${folder}`)],
  },
  api: {
    files: /^(src|api|scripts)\/|^package(-lock)?\.json$|^tsconfig/,
    command: () => ['tsx', 'scripts/api-reports.ts', '--check'],
  },
  tests: { files: /./, command: quickTests },
}

/** Folders whose types need the packages of a folder, and perhaps a build. In CI all of these are there. */
const NEEDS = {
  bench: 'bench/node_modules',
  site: 'site/node_modules',
  'test/processes/page': 'test/processes/page/node_modules',
  'test/processes/terminal': 'test/processes/terminal/node_modules',
  'examples/express': 'test/processes/examples/node_modules',
  'examples/fastify': 'test/processes/examples/node_modules',
  'examples/sql-clients': 'examples/sql-clients/node_modules',
  examples: 'dist',
}

function notInstalled() {
  return Object.keys(NEEDS).filter((folder) => !existsSync(NEEDS[folder]))
}

function cached(name, strategy) {
  return isCi ? [] : ['--cache', `--cache-location=${CACHE}/check-${name}`, strategy]
}

/** @param changed paths, or undefined if nothing is known of an earlier run */
function quickTests(changed) {
  const all = ['jest', '--config', 'test/jest/quick.mjs', '--reporters=default']
  const everyTestDependsOn = /^(package(-lock)?\.json|jest\.config|test\/jest\/|tsconfig\.json)/
  if (changed === undefined || changed.some((file) => everyTestDependsOn.test(file))) return all
  const sources = changed.filter((file) => /^(src|test)\/.*\.[cm]?[jt]s$/.test(file) && existsSync(file))
  return [...all, '--passWithNoTests', '--findRelatedTests', ...READ_FILES, ...sources]
}

/** Hashes of all files that Git knows or would add; and of what is installed. */
function hashes() {
  const list = (...args) =>
    execFileSync('git', ['ls-files', '-z', ...args], { encoding: 'utf8' })
      .split('\0')
      .filter(Boolean)
  const files = [...new Set([...list(), ...list('--others', '--exclude-standard')])].filter(existsSync)
  const hash = (content) => createHash('sha1').update(content).digest('base64')
  return new Map([
    ...files.map((file) => [file, hash(readFileSync(file))]),
    ['package.json', hash(`${process.version} ${notInstalled()} ${readFileSync('package.json', 'utf8')}`)],
  ])
}

/** Which files of the step differ from those with which it last passed. */
function changedSince(known, current, files) {
  if (!known) return undefined
  const all = [...new Set([...Object.keys(known), ...current.keys()])]
  return all.filter((file) => files.test(file) && known[file] !== current.get(file))
}

const memory = !isCi && existsSync(MEMORY) ? JSON.parse(readFileSync(MEMORY, 'utf8')) : {}
const current = hashes()
const wanted = process.argv.slice(2)
const unknown = wanted.filter((step) => !(step in STEPS))
if (unknown.length > 0)
  throw new Error(`Unknown steps ${unknown.join(', ')} – known are ${Object.keys(STEPS).join(', ')}.`)

const run = (command) =>
  new Promise((resolve) => {
    const [program, ...args] = command
    const path = program === process.execPath ? program : `node_modules/.bin/${program}`
    const child = spawn(path, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
    child.on('close', (code) => resolve({ code, output }))
  })

await Promise.all(
  Object.entries(STEPS)
    .filter(([step]) => wanted.length === 0 || wanted.includes(step))
    .map(async ([step, { files, command }]) => {
      const changed = changedSince(memory[step], current, files)
      if (changed?.length === 0) return console.log(`${step}: passed before, and nothing has changed since`)
      const started = performance.now()
      const { code, output } = await run(command(changed))
      const seconds = Math.round((performance.now() - started) / 1000)
      console.log(
        `${step}: ${code === 0 ? 'passed' : `FAILED – again with npm run check ${step}`}, ${seconds} s`,
      )
      // Whoever runs one step wants to read all of it.
      if (code !== 0 || wanted.length > 0) console.log(output)
      if (code !== 0) return void (process.exitCode = 1)
      memory[step] = Object.fromEntries([...current].filter(([file]) => files.test(file)))
      if (isCi) return
      // At once, so that a run that is interrupted has not been in vain.
      mkdirSync(dirname(MEMORY), { recursive: true })
      writeFileSync(MEMORY, JSON.stringify(memory))
    }),
)
