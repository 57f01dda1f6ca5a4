import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { toEnvironment, type Settings } from './settings'

/** What a process of the demo reports about itself. The picture depends on it; the verdict does not. */
export type News =
  | { readonly kind: 'ready' }
  | { readonly kind: 'running' | 'ran' | 'skipped' | 'late'; readonly tick: number }
  | { readonly kind: 'error'; readonly tick: number; readonly message: string }

export type Order = 'start' | 'stop'

/** A process of the demo, as the process that started it controls it. */
export class WorkerProcess {
  readonly name: string
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  #expected = false

  constructor(settings: Settings, onNews: (worker: WorkerProcess, news: News) => void) {
    this.name = settings.process
    this.#child = fork(join(__dirname, 'worker.ts'), {
      // Only for Prisma, whose client is an ES module: the loader for those takes three times as long to start.
      execArgv: settings.orm === 'prisma' ? ['--import', 'tsx'] : ['--require', 'tsx/cjs'],
      env: toEnvironment(settings),
    })
    this.#exited = once(this.#child, 'exit')
    this.#child.on('message', (news: News) => {
      onNews(this, news)
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Whether it ended without being told to. */
  get failed(): boolean {
    return !this.running && !this.#expected
  }

  /** Lets its scheduler fire from the next second on. */
  start(): void {
    this.#order('start')
  }

  /** `kill -9`: no handler runs, and no lock is released. */
  async kill(): Promise<void> {
    this.#expected = true
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  /** Stops the process after its current run. */
  async stop(): Promise<void> {
    if (!this.running) return
    this.#expected = true
    this.#order('stop')
    await this.#exited
  }

  #order(order: Order): void {
    // The process may have just ended.
    this.#child.send(order, () => undefined)
  }
}
