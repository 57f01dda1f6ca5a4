import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Returns the ids of the user if this process runs as root, because database servers refuse to run as root. */
function identity(user: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string): number => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

export async function runAs(user: string, command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(command, [...args], { ...identity(user), cwd: '/' })
  return stdout
}

/** @param environment variables to add to those of this process */
export function startAs(
  user: string,
  command: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): ChildProcess {
  const env = { ...process.env, ...environment }
  const child = spawn(command, [...args], { ...identity(user), cwd: '/', stdio: 'ignore', env })
  child.on('error', () => undefined)
  const kill = (): void => signalFamily(child, 'SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return child
}

function isRunning({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
}

/** Signals a server and its child processes, so that all of them stop at once, or are killed without closing their connections. */
export function signalFamily({ pid }: Pick<ChildProcess, 'pid'>, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  const family = [pid, ...childrenOf(pid)]
  for (const member of family) {
    try {
      process.kill(member, signal)
    } catch {
      // The process has already ended.
    }
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number).filter(Boolean)
  } catch {
    return []
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(child)) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  if (signal === 'SIGKILL') signalFamily(child, signal)
  else child.kill(signal)
  await exited
}

/** A database server that can be stopped and started again on the same data. */
export class ServerProcess {
  #child: ChildProcess | undefined

  /** @param ask queries the server, and rejects while it does not answer */
  constructor(
    private readonly spawnServer: () => ChildProcess,
    private readonly ask: () => Promise<unknown>,
  ) {}

  async start(): Promise<void> {
    this.#child = this.spawnServer()
    await this.#whenReady()
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.#child) await end(this.#child, signal)
  }

  kill(): Promise<void> {
    return this.stop('SIGKILL')
  }

  /** Suspends all of the server's processes. Its connections stay open but are silent. */
  freeze(): void {
    if (this.#child) signalFamily(this.#child, 'SIGSTOP')
  }

  thaw(): void {
    if (this.#child) signalFamily(this.#child, 'SIGCONT')
  }

  /** Starts the server if it has ended by itself, and waits until it answers. */
  async revive(): Promise<void> {
    if (this.#isRunning) await this.#whenReady()
    else await this.start()
  }

  get #isRunning(): boolean {
    return this.#child !== undefined && isRunning(this.#child)
  }

  async #whenReady(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await this.ask()
        return
      } catch (error) {
        if (attempt > 1_200 || !this.#isRunning) throw error
        await sleep(50)
      }
    }
  }
}
