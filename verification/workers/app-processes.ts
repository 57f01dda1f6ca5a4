import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LockEvent } from '../history/events'
import { AppProcess } from './app-process'
import type { Identity, Plan } from './plan'

interface Start {
  /** Which of the current processes it replaces. Default: none, so that there is one more. */
  readonly place?: number
  /** The error of its wall clock, such as `+3h`. */
  readonly clock?: string | undefined
  /** Starts another one if this one ends by itself. */
  readonly again?: () => void
}

/** The processes of one app, and what all of them have recorded. */
export class AppProcesses<Of extends Identity = Plan> {
  /** The latest process of each place. */
  readonly current: AppProcess[] = []
  readonly #all: AppProcess[] = []
  readonly #directory = mkdtempSync(join(tmpdir(), 'shedlock-processes-'))

  /** @param seed of the first process, plus one for each further process @param program default: that of the workers */
  constructor(
    private readonly seed = 0,
    private readonly program?: string,
  ) {}

  start(
    plan: Omit<Of, 'process' | 'file' | 'seed'>,
    { place = this.current.length, clock, again }: Start = {},
  ): AppProcess {
    const count = this.#all.length
    const identity = { process: `${count}`, file: join(this.#directory, `${count}.jsonl`) }
    const started = new AppProcess({ ...plan, ...identity, seed: this.seed + count }, clock, this.program)
    this.#all.push(started)
    this.current[place] = started
    void started.exited().then(() => {
      if (!started.isStopping && this.current[place] === started) again?.()
    })
    return started
  }

  async ready(): Promise<void> {
    await Promise.all(this.current.map((each) => each.ready()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.current.map((each) => each.stop()))
  }

  events(): LockEvent[] {
    return this.#all.flatMap((each) => each.events())
  }

  /** Kills all processes, and deletes what they recorded. */
  async close(): Promise<void> {
    for (const each of this.#all) each.signal('SIGKILL')
    await Promise.all(this.#all.map((each) => each.exited()))
    rmSync(this.#directory, { recursive: true })
  }
}
