import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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

/** Runs the built command line as a process, without blocking the test's own. */
export function runCli(
  cli: string,
  args: readonly string[],
  { cwd = root, env = {}, under = [], input = '' }: RunOptions = {},
): Promise<Finished> {
  const [program = process.execPath, ...rest] = [...under, process.execPath, cli, ...args]
  const child = spawn(program, rest, { cwd, env: { ...process.env, DATABASE_URL: undefined, ...env } })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdin.on('error', () => undefined).end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (status) => {
      resolve({ status, stdout, stderr })
    })
  })
}
