import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

const root = join(__dirname, '..', '..')

export interface Finished {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Runs the command under another, such as `faketime`. */
  readonly under?: readonly string[]
  readonly input?: string
}

/** Builds the command line as it is published. */
export function buildCli(): string {
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-cli-'))
  execFileSync(process.execPath, ['scripts/build-cli.mjs', folder], { cwd: root })
  return join(folder, 'shedlock.js')
}

/** Runs the built command line, without blocking the test's own process: `exec`, and what needs a process, in one of its own. */
export function runCli(cli: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { DATABASE_URL, ...inherited } = process.env
  const env = { ...inherited, ...options.env }
  const { cwd, under, input = '' } = options
  if (args[0] !== 'exec' && !cwd && !under && !input && !options.env?.['NODE_OPTIONS']) {
    // A thread starts in half the time.
    const thread = new Worker(cli, { argv: [...args], env, stdout: true, stderr: true })
    return finished(thread, 'exit')
  }
  const [program = process.execPath, ...rest] = [...(under ?? []), process.execPath, cli, ...args]
  const child = spawn(program, rest, { cwd: cwd ?? root, env })
  child.stdin.on('error', () => undefined).end(input)
  return finished(child, 'close')
}

/** What was written until its last event, which tells the exit status. */
function finished(running: Worker | ChildProcessWithoutNullStreams, last: string): Promise<Finished> {
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    running[name].setEncoding('utf8').on('data', (text: string) => (written[name] += text))
  return new Promise((resolve, reject) => {
    running.on('error', reject).on(last, (status: number | null) => {
      // A thread's last output comes with its end.
      setImmediate(() => {
        resolve({ status, ...written })
      })
    })
  })
}
