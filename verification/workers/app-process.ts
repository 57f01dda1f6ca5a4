import { fork, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Break } from '../mutations/broken-copy'
import { clockOf } from '../../test/processes/fake-time'
import { monotonic, parseEvents, type LockEvent, type ProcessEvent } from '../history/events'
import { brokenProgram } from '../mutations/broken-program'
import type { Ambush, Phase } from './phases'
import type { Identity, MessageFromProcess, MessageToProcess } from './plan'

/** In milliseconds, how long to wait until a process reaches the phase of an ambush. */
export const PATIENCE = 3_000

/** The program of all processes, which is built once, with breaks in it or without. */
export const workerProgram = (breaks: readonly Break[] = []): string =>
  brokenProgram(join(__dirname, 'worker.ts'), breaks)
let intact: string | undefined

/** One process of an app, and what it has recorded. */
export class AppProcess {
  readonly #child: ChildProcess
  readonly #ready: Promise<void>
  readonly #exited: Promise<void>
  readonly #events: LockEvent[] = []
  #read = 0
  #reached: ((phase: Phase) => void) | undefined
  #isStopping = false

  /** @param clock the error of the process's wall clock, such as `+3h`. Its monotonic clock is not affected. */
  constructor(
    readonly plan: Identity,
    clock?: string,
    worker = (intact ??= workerProgram()),
  ) {
    this.#child = fork(worker, [JSON.stringify(plan)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // Do not load the harness's TypeScript compiler.
      execArgv: ['--expose-gc'],
      // Locks are lost often here, and each one would be a warning.
      env: { ...process.env, NODE_NO_WARNINGS: '1', ...clockOf(clock) },
    })
    this.#child.on('error', () => undefined)
    this.#exited = new Promise((resolve) =>
      this.#child.once('exit', (code, signal) => {
        this.#exit(code, signal)
        resolve()
      }),
    )
    this.#ready = new Promise((resolve) => {
      this.#child.on('message', (message: MessageFromProcess) => {
        if (message.type === 'ready') resolve()
        else this.#reached?.(message.phase)
      })
    })
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Whether it was asked to stop, or killed by the harness. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  async ready(): Promise<void> {
    await Promise.race([this.#ready, this.#exited])
  }

  /** Returns what the process has recorded so far. */
  events(): readonly LockEvent[] {
    const { file } = this.plan
    if (!existsSync(file)) return this.#events
    const unread = readFileSync(file).subarray(this.#read)
    const complete = unread.subarray(0, unread.lastIndexOf('\n') + 1)
    this.#events.push(...parseEvents(complete.toString()))
    this.#read += complete.length
    return this.#events
  }

  send(message: MessageToProcess): void {
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  ambush(phase: Phase, action: Ambush['action'], milliseconds = 0): void {
    const expires = monotonic() + PATIENCE
    this.send({ type: 'ambush', ambush: { phase, action, milliseconds, expires } })
  }

  /** Acts when the process reaches the phase of a `report` ambush, and then lets the process continue. */
  async whenReached(act: () => Promise<void> | void): Promise<boolean> {
    const reached = new Promise<true>((resolve) => (this.#reached = () => resolve(true)))
    const isReached = await Promise.race([reached, sleep(PATIENCE, false)])
    this.#reached = undefined
    if (isReached) await act()
    this.send({ type: 'done' })
    return isReached
  }

  signal(signal: NodeJS.Signals): void {
    if (signal === 'SIGKILL') this.#isStopping = true
    this.#child.kill(signal)
  }

  /** Waits until the process has been stopped, and continues it after this many milliseconds. */
  async wakeAfter(milliseconds: number): Promise<boolean> {
    for (let waited = 0; !this.#isSuspended(); waited += 10) {
      if (waited > PATIENCE + 500) return false
      await sleep(10)
    }
    await sleep(milliseconds)
    this.#child.kill('SIGCONT')
    return true
  }

  exited(): Promise<void> {
    return this.#exited
  }

  /** Asks the process to stop, and kills it if it does not. */
  async stop(patience = 20_000): Promise<void> {
    this.#isStopping = true
    this.#child.kill('SIGCONT')
    this.send({ type: 'stop' })
    await Promise.race([this.#exited, sleep(patience, undefined, { ref: false })])
    if (this.alive) this.#child.kill('SIGKILL')
    await this.#exited
  }

  #exit(code: number | null, signal: NodeJS.Signals | null): void {
    const { process } = this.plan
    const note = (event: Omit<ProcessEvent, 'process' | 'at'>): void => {
      this.#events.push({ process, at: monotonic(), ...event } as ProcessEvent)
    }
    const isKilled = this.#isStopping || signal === 'SIGKILL'
    if (code !== 0 && !isKilled && !this.events().some(({ type }) => type === 'crash'))
      note({ type: 'crash', origin: 'library', error: `${process} ended with ${code ?? signal}` } as never)
    note({ type: 'exited' })
  }

  #isSuspended(): boolean {
    try {
      return readFileSync(`/proc/${String(this.#child.pid)}/stat`, 'utf8').includes(') T ')
    } catch {
      return false
    }
  }
}
