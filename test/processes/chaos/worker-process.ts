import { fork, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { clockOf } from '../fake-time'
import { monotonic, readProcessHistory, type ProcessEntry } from './history'
import type { Ambush, Phase } from './phases'
import type { MessageFromWorker, MessageToWorker, WorkerOptions } from './worker'

/** In milliseconds, how long to wait until a process reaches the phase of an ambush. */
export const PATIENCE = 3_000

export interface WorkerProcessOptions extends WorkerOptions {
  /** The error of the process's wall clock, such as `+3h`. Its monotonic clock is not affected. */
  readonly clock: string | undefined
}

/** One app instance. */
export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #ready: Promise<void>
  readonly #exited: Promise<void>
  #reached: ((phase: Phase) => void) | undefined

  constructor(readonly options: WorkerProcessOptions) {
    const { clock } = options
    this.#child = fork(join(__dirname, 'worker.ts'), [JSON.stringify(options)], {
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: {
        ...process.env,
        ...clockOf(clock),
      },
    })
    this.#child.on('error', () => undefined)
    this.#exited = new Promise((resolve) =>
      this.#child.once('exit', () => {
        resolve()
      }),
    )
    this.#ready = new Promise((resolve) => {
      this.#child.on('message', (message: MessageFromWorker) => {
        if (message.type === 'ready') resolve()
        else this.#reached?.(message.phase)
      })
    })
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async ready(): Promise<void> {
    await Promise.race([this.#ready, this.#exited])
  }

  history(): ProcessEntry[] {
    return existsSync(this.options.historyFile) ? readProcessHistory(this.options.historyFile) : []
  }

  send(message: MessageToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  ambush(phase: Phase, action: Ambush['action'], milliseconds = 0): void {
    const expires = monotonic() + PATIENCE
    this.send({ type: 'ambush', ambush: { phase, action, milliseconds, expires } })
  }

  /** Acts when the process reaches the phase of a `report` ambush, and then lets the process continue. */
  async whenReached(act: () => Promise<void> | void): Promise<boolean> {
    const reached = await Promise.race([
      new Promise<true>((resolve) => {
        this.#reached = () => {
          resolve(true)
        }
      }),
      sleep(PATIENCE, false),
    ])
    this.#reached = undefined
    if (reached) await act()
    this.send({ type: 'done' })
    return reached
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** Waits until the process has been stopped, and continues it after this many milliseconds. */
  async wakeAfter(milliseconds: number): Promise<boolean> {
    if (!(await this.#waitUntil(() => this.#isStopped(), PATIENCE + 500))) return false
    await sleep(milliseconds)
    this.#child.kill('SIGCONT')
    return true
  }

  exited(): Promise<void> {
    return this.#exited
  }

  /** Asks the process to stop, and kills it if it does not. */
  async stop(patience: number): Promise<void> {
    this.#child.kill('SIGCONT')
    this.send({ type: 'stop' })
    await Promise.race([this.#exited, sleep(patience)])
    if (this.alive) this.kill()
    await this.#exited
  }

  async #waitUntil(condition: () => boolean, patience: number): Promise<boolean> {
    for (let waited = 0; waited < patience; waited += 10) {
      if (condition()) return true
      await sleep(10)
    }
    return false
  }

  #isStopped(): boolean {
    try {
      return readFileSync(`/proc/${String(this.#child.pid)}/stat`, 'utf8').includes(') T ')
    } catch {
      return false
    }
  }
}
