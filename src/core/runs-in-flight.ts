import { shutdownError } from './errors'
import type { HeldLock } from './held-lock'
import { inTime } from './time'

/** One call of an executor, from its attempt to acquire the lock until the lock is released. */
export interface RunInFlight {
  readonly name: string
  lock?: HeldLock
}

/** The runs of one executor that have not ended, so that a shutdown can stop them and wait for them. */
export class RunsInFlight {
  readonly #runs = new Map<RunInFlight, Promise<unknown>>()
  readonly #stop = new AbortController()

  /** Aborts when no more runs may start. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  isStopped(): boolean {
    return this.#stop.signal.aborted
  }

  track<T>(name: string, work: (run: RunInFlight) => Promise<T>): Promise<T> {
    const run: RunInFlight = { name }
    const tracked = work(run).finally(() => this.#runs.delete(run))
    this.#runs.set(
      run,
      tracked.catch(() => undefined),
    )
    return tracked
  }

  /**
   * Signals all runs to stop, prevents new ones, and waits until they have ended, but at most `timeout` milliseconds.
   *
   * @returns the names of the runs that have not ended
   */
  async stop(timeout: number): Promise<readonly string[]> {
    this.#stop.abort()
    const runs = [...this.#runs]
    for (const [{ name, lock }] of runs) lock?.stop(shutdownError(name))
    const ended = Promise.all(runs.map(([, run]) => run))
    await inTime(ended, timeout, () => new Error('not ended')).catch(() => undefined)
    return runs.filter(([run]) => this.#runs.has(run)).map(([{ name }]) => name)
  }
}
