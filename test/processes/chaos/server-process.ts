import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Database servers refuse to run as root. */
function identity(user: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string): number => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

export async function runAs(user: string, command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(command, [...args], { ...identity(user), cwd: '/' })
  return stdout
}

export function startAs(user: string, command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, [...args], { ...identity(user), cwd: '/', stdio: 'ignore' })
  child.on('error', () => undefined)
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return child
}

function isRunning({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(child)) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await exited
}

/** A database server that is started, stopped, and started again on the same data. */
export class ServerProcess {
  #child: ChildProcess | undefined

  /** @param ask rejects while the server does not answer */
  constructor(
    private readonly spawnServer: () => ChildProcess,
    private readonly ask: () => Promise<void>,
  ) {}

  async start(): Promise<void> {
    this.#child = this.spawnServer()
    await this.#whenReady()
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.#child) await end(this.#child, signal)
  }

  /** Starts it if it gave up by itself. */
  async revive(): Promise<void> {
    if (this.#child && isRunning(this.#child)) await this.#whenReady()
    else await this.start()
  }

  async #whenReady(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await this.ask()
        return
      } catch (error) {
        if (attempt > 300) throw error
        await sleep(50)
      }
    }
  }
}
