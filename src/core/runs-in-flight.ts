import type { HeldLock } from './held-lock'
import { LockError } from './errors'
import { LONGEST_TIMEOUT, time, type Cancel } from './time'

/** One call of an executor, from its attempt to acquire the lock until the lock is released. */
export interface RunInFlight {
  readonly name: string
  lock: HeldLock | undefined
}

/** The runs of one executor that have not ended, so that a shutdown can stop them and wait for them. */
export class RunsInFlight {
  readonly #runs = new Map<RunInFlight, Promise<unknown>>()
  readonly #stop = new AbortController()

  /** Aborts when no further run may begin. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  isStopped(): boolean {
    return this.#stop.signal.aborted
  }

  track<T>(name: string, work: (run: RunInFlight) => Promise<T>): Promise<T> {
    const run: RunInFlight = { name, lock: undefined }
    const tracked = work(run).finally(() => this.#runs.delete(run))
    this.#runs.set(
      run,
      tracked.catch(() => undefined),
    )
    return tracked
  }

  /**
   * Asks all to stop, lets no more begin, and waits until they have ended, but not longer than this.
   *
   * @returns the names of those that have not ended
   */
  async stop(timeout: number): Promise<readonly string[]> {
    this.#stop.abort()
    const runs = [...this.#runs]
    for (const [{ name, lock }] of runs) lock?.abort(shutdownError(name))
    let cancel: Cancel | undefined
    const late = new Promise<void>((resolve) => {
      cancel = time.after(Math.min(timeout, LONGEST_TIMEOUT), resolve, true)
    })
    await Promise.race([late, Promise.all(runs.map(([, ended]) => ended))])
    cancel?.()
    return runs.filter(([run]) => this.#runs.has(run)).map(([{ name }]) => name)
  }
}

export function shutdownError(lockName: string): LockError {
  return new LockError('SHUTDOWN', `The executor shuts down – the task under lock '${lockName}' must stop.`, {
    lockName,
  })
}
