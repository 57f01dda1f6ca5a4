import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { monotonic, type Crash, type Entry, type Instance } from './history'
import type { Order, WorkerOptions } from './worker'

/** One process of an app. */
export class InstanceProcess implements Instance {
  readonly entries: Entry[] = []
  endedAt = Infinity
  readonly #child: ChildProcess
  readonly #ready: Promise<unknown>
  #stopping = false
  /** How the process ended, unless it was asked to. */
  crash: Crash | undefined

  constructor(
    program: string,
    readonly address: number,
    options: WorkerOptions,
    onCrash: () => void,
  ) {
    this.orm = options.orm
    this.#child = fork(program, [JSON.stringify(options)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // Do not load the harness's TypeScript compiler.
      execArgv: [],
    })
    this.#child.on('message', (message: Entry | Crash | 'ready') => {
      if (message === 'ready') return
      if (message.type === 'crash') this.crash = message
      else this.entries.push(message)
    })
    this.#child.once('exit', (code, signal) => {
      this.endedAt = monotonic()
      if (this.#stopping && code === 0) return
      this.crash ??= {
        type: 'crash',
        origin: 'library',
        error: `${this.orm} ended with ${code ?? String(signal)}`,
      }
      onCrash()
    })
    this.#ready = Promise.race([once(this.#child, 'message'), once(this.#child, 'exit')])
  }

  readonly orm: string

  async ready(): Promise<void> {
    await this.#ready
  }

  /** Returns when an attempt that began since `moment` first had one of the outcomes; `undefined` if none has had one yet. */
  firstSince(moment: number, outcomes: readonly unknown[]): number | undefined {
    for (const entry of this.entries)
      if (entry.type === 'attempt' && entry.at >= moment && outcomes.includes(entry.outcome)) return entry.to
    return undefined
  }

  /** Sends an order, unless the process has ended. */
  order(order: Order): void {
    if (this.#child.connected) this.#child.send(order)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), 20_000)
    this.order('stop')
    await exited
    clearTimeout(kill)
  }
}
