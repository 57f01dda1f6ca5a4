import {
  execFileSync,
  fork,
  spawn,
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
} from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, expect } from '@jest/globals'
import { root } from '../project'
import { temporaryFolder } from '../temporary-folder'

/** What is built: Jest reads here on which files the tests of the command line depend. */
// oxlint-disable-next-line typescript/consistent-type-imports
export type Source = typeof import('../../src/cli/main')

export interface Finished {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export const saying = (text: RegExp | string): unknown =>
  typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text)

/** Matches a command that failed with this status, and says so. */
export const failed = (status: number, message: RegExp | string): unknown =>
  expect.objectContaining({ status, stderr: saying(message) })

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Texts
  /** Runs the command under another, such as `faketime`. */
  readonly under?: readonly string[]
  readonly input?: string
}

let built: string | undefined

/** Returns the file of the command line, built as it is published. */
export function builtCli(): string {
  if (built === undefined) {
    const folder = temporaryFolder()
    execFileSync(process.execPath, ['scripts/build-entries.mjs', folder], { cwd: root })
    built = join(folder, 'cli/shedlock.js')
  }
  return built
}

/** For `project`. */
export const ALL_PACKAGES = '.'

/** Texts by the names of files, versions by those of packages, or values by those of variables. */
export type Texts = Readonly<Record<string, string>>

/** A folder of somebody who has these files, and has installed these packages. */
export function project(files: Texts, ...packages: readonly string[]): string {
  const folder = temporaryFolder()
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  for (const installed of packages.map((name) => join('node_modules', name))) {
    mkdirSync(dirname(join(folder, installed)), { recursive: true })
    symlinkSync(join(root, installed), join(folder, installed))
  }
  return folder
}

/** For `under`: an output that cannot be written, as on a full disk. */
export const FULL = {
  stdout: ['sh', '-c', 'exec "$@" > /dev/full', 'sh'],
  stderr: ['sh', '-c', 'exec "$@" 2> /dev/full', 'sh'],
}

/** A command that runs until the test ends it. */
export type Started = ReturnType<typeof startCli>

/**
 * Starts the built command line in a process of its own. `up`: its output has its first line. `ended`: its exit status, and the
 * signal that ended it. `stop`: writes to its input, which ends the commands of these tests.
 */
export function startCli(args: readonly string[], env: Texts) {
  const child = spawn(process.execPath, [builtCli(), ...args], { cwd: root, env: { ...process.env, ...env } })
  const written = writtenBy(child)
  const up = once(child.stdout, 'data')
  const said = (stream: 'stdout' | 'stderr'): string => written[stream]
  const ended = once(child, 'exit')
  const stop = () => {
    child.stdin.end('stop')
    return ended
  }
  return { child, up, ended, said, stop }
}

function writtenBy(child: ChildProcessWithoutNullStreams) {
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (written[name] += text))
  return written
}

/** Runs the built command line, without blocking the test's own process. */
export function runCli(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  // Jest sets FORCE_COLOR for its own processes, even if their output is no terminal.
  const { DATABASE_URL, FORCE_COLOR, ...inherited } = process.env
  const env = { ...inherited, ...options.env }
  return needsProcess(args, options) ? runInProcess(args, env, options) : runInTurn(args, env, options)
}

/** Whether the command starts a program, loads a file of the project or depends on how it is started. */
function needsProcess(args: readonly string[], { env, under, input }: RunOptions): boolean {
  const loads = ['--data-source', '-d'].some((flag) => args.includes(flag))
  const starts = args[0] === 'exec' && env !== undefined
  return loads || starts || Boolean(under ?? input ?? env?.['NODE_OPTIONS'])
}

async function runInProcess(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { cwd = root, under = [], input = '' }: RunOptions,
): Promise<Finished> {
  const [program = process.execPath, ...rest] = [...under, process.execPath, builtCli(), ...args]
  const child = spawn(program, rest, { cwd, env })
  child.stdin.on('error', () => undefined).end(input)
  const written = writtenBy(child)
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, ...written }
}

let commands: ChildProcess | undefined
let turn: Promise<unknown> = Promise.resolve()

afterAll(() => {
  // A command that waits for signals leaves handlers of them.
  commands?.kill('SIGKILL')
})

/** Runs commands one after another in one process, because starting one takes ten times as long as most commands. */
function runInTurn(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { cwd = root }: RunOptions,
): Promise<Finished> {
  const child = (commands ??= fork(join(__dirname, 'command-line.mjs'), [builtCli()]))
  const finished = turn.then(async () => {
    const answer = once(child, 'message')
    child.send({ args, env, cwd })
    const [result] = (await answer) as [Finished]
    return result
  })
  turn = finished.catch(() => undefined)
  return finished
}
