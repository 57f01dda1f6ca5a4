import { sharedByEveryCopy } from './copies'
import { checkLease } from './configuration'
import { aDuration, aLease } from './duration'
import { configurationError, LockError, unreleasedError, warn } from './errors'
import { keepAlive } from './keep-alive'
import {
  hasListeners,
  notify,
  type EventDetails,
  type LockEvent,
  type LockingTaskExecutorListener,
} from './listener'
import type { Acquisition, Duration, Lock } from './lock'
import { parseOptions, optionError } from './options'
import { Lease, whenAborted, whenOver, type Cancel } from './time'

/** What an executor reports about a lock, and to which listeners. */
export interface LockReport {
  readonly event: LockEvent
  readonly listeners: readonly LockingTaskExecutorListener[]
}

interface End {
  readonly code: 'LOCK_LOST' | 'NOT_LOCKED'
  readonly why: string
}

/** The acquisition behind each lock. */
const acquisitions = sharedByEveryCopy('acquisitions.2', () => new WeakMap<object, Acquisition>())

/** Returns the storage's acquisition behind this lock, for functions such as the SQL guard. */
export function acquisitionOf(lock: object): Acquisition | undefined {
  return acquisitions.get(lock)
}

const OUTLIVED = 'the task ran longer than lockAtMostFor'
const NOT_EXTENDED = 'it was not extended in time: the database did not answer, or this process stood still'

/** One lock, from its acquisition to its end. Its extensions and its release run one at a time. */
export class HeldLock implements Lock {
  readonly name: string
  readonly #acquisition: Acquisition
  readonly #report: LockReport | undefined
  #lease: Acquisition['lease']
  /** Why the lock can no longer be used. The error itself is created when it is needed. */
  #end: End | undefined
  #error: LockError | undefined
  /** Why it was not extended, since its last extension: the first error, because the lease's end cuts later attempts short. */
  #notExtended: unknown
  /** Why the signal aborts, although the lock may still be held. */
  #abort: { readonly reason: unknown } | undefined
  #isReleased = false
  #turn: Promise<unknown> = Promise.resolve()
  #controller: AbortController | undefined
  #cancelExpiry: Cancel | undefined
  #cancelKeepAlive: Cancel | undefined
  readonly #cancelAborts: Cancel[] = []

  /** @param report only for the lock of a task, whose events are reported as they happen */
  constructor(name: string, acquisition: Acquisition, report?: LockReport) {
    this.name = name
    this.#acquisition = acquisition
    this.#report = report
    this.#lease = acquisition.lease
    acquisitions.set(this, acquisitions.get(acquisition) ?? acquisition)
    if (report) this.#watchLease()
  }

  /** Created on first use, because most locks end without one. */
  get signal(): AbortSignal {
    this.#watchLease()
    // Timers do not fire while the process is blocked, so the lease may have ended unnoticed.
    this.#loseIfOver()
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#abort) this.#controller.abort(this.#abort.reason)
      else if (this.#end) this.#controller.abort(this.#errorOf(this.#end))
    }
    return this.#controller.signal
  }

  remaining(): number {
    return this.#end ? 0 : this.#lease.remaining()
  }

  async fencingToken(): Promise<number> {
    this.#throwUnlessHeld()
    if (!this.#acquisition.fencingToken)
      throw configurationError(
        `The provider of lock '${this.name}' has no fencing tokens – use a provider of this package, such as typeOrmLockProvider.`,
        this.name,
      )
    const token = await this.#acquisition.fencingToken()
    if (token === undefined) this.#lose('its row in the database no longer belongs to it')
    this.#throwUnlessHeld()
    return Number(token)
  }

  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<void> {
    const extended = this.#extendInTurn(lockAtMostFor, lockAtLeastFor)
    // If the task ends without awaiting the extension, the rejection must not crash the process.
    extended.catch(() => undefined)
    return extended
  }

  /**
   * Keeps extending the lock until it ends.
   *
   * @param lockAtMostFor in milliseconds
   * @param atMost after how many milliseconds the lock counts as lost; may be `Infinity`
   */
  keepAlive(lockAtMostFor: number, atMost: number): void {
    const cancel = keepAlive(this, lockAtMostFor)
    const limit = new Lease(atMost)
    const cancelLimit = whenOver(
      () => limit.remaining(),
      () => {
        this.#lose('it is no longer extended, because keepAlive.atMost is over')
      },
    )
    this.#cancelKeepAlive = () => {
      cancel()
      cancelLimit()
    }
    if (this.#end) this.#cancelKeepAlive()
  }

  /** Aborts the signal of this lock, which may still be held. Only the first reason counts. */
  abort(reason: unknown): void {
    if (this.#end) return
    this.#abort ??= { reason }
    this.#controller?.abort(this.#abort.reason)
  }

  /** Aborts the signal of this lock when the other signal aborts, with the same reason. */
  abortWith(other: AbortSignal): void {
    // At its end, the lock stops listening to the other signal, which may live for ever.
    this.#watchLease()
    const abort = (): void => {
      this.abort(other.reason)
    }
    if (other.aborted) abort()
    else if (!this.#end) this.#cancelAborts.push(whenAborted(other, abort))
  }

  /**
   * Lends this lock to a task that is nested in it. Releasing what it returns does not release this lock.
   *
   * @param giveBack called when the nested task has ended
   */
  lend(giveBack: () => void): Acquisition {
    this.#throwUnlessHeld()
    const lent: Acquisition = {
      lease: this,
      extend: async (...durations) => {
        await this.extend(...durations)
        return this
      },
      fencingToken: () => this.fencingToken(),
      unlock: () => Promise.resolve().then(giveBack),
    }
    acquisitions.set(lent, acquisitions.get(this) ?? this.#acquisition)
    return lent
  }

  async unlock(options: Parameters<Lock['unlock']>[0] = {}): Promise<void> {
    const parsers = { outcome: parseOutcome, error: (error: unknown) => error }
    const { outcome, error } = parseOptions(options, parsers, 'options of unlock()', this.name)
    if (error !== undefined && outcome !== 'failed')
      throw optionError('error', "left out, or passed with outcome: 'failed'", this.name)
    await this.end(outcome, error)
  }

  /** Ends the lock as `unlock` does, without checking its options. */
  async end(...end: Partial<Parameters<Acquisition['unlock']>>): Promise<void> {
    // If the lease ended while the process was blocked, that loss has not been reported yet.
    if (this.#report) this.#loseIfOver()
    this.#endWith({ code: 'NOT_LOCKED', why: 'it was released' })
    await this.#inTurn(async () => {
      if (this.#isReleased) return
      const wasOurs = await this.#acquisition.unlock(end[0], end[1])
      this.#isReleased = true
      if (wasOurs !== false || this.#end?.code === 'LOCK_LOST') return
      const why = 'it was released by hand, or its row has changed'
      this.#tellLost(this.#createError({ code: 'LOCK_LOST', why }), 'use keepAlive, which finds that')
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end().catch((error: unknown) => {
      warn(unreleasedError(this.name, error))
    })
  }

  async #extendInTurn(lockAtMostFor: Duration, lockAtLeastFor: Duration | undefined): Promise<void> {
    const atMost = aLease(lockAtMostFor, 'lockAtMostFor', this.name)
    const atLeast =
      lockAtLeastFor === undefined ? undefined : aDuration(lockAtLeastFor, 'lockAtLeastFor', this.name)
    checkLease(this.name, atMost, atLeast ?? 0)
    try {
      await this.#inTurn(() => this.#extend(atMost, atLeast))
    } catch (error) {
      this.#notExtended ??= error
      // The loss of the lock has an event of its own.
      if (error !== this.#error) this.#notify('onExtendFailed', { error })
      throw error
    }
    this.#notExtended = undefined
    this.#notify('onLockExtended', {})
  }

  async #extend(lockAtMostFor: number, lockAtLeastFor: number | undefined): Promise<void> {
    this.#throwUnlessHeld()
    const extended = await this.#acquisition.extend(lockAtMostFor, lockAtLeastFor)
    const tooLate = 'the answer to its extension arrived after its lease was over'
    // A task that saw its lease expire has stopped, so a late answer must not revive the lock.
    this.#throwUnlessHeld(tooLate)
    if (!extended)
      this.#lose('the database refused to extend it, because it was released by hand, or its row has changed')
    else this.#lease = Lease.longer(this.#lease, extended)
    // The process may have been suspended for longer than the new lease.
    this.#throwUnlessHeld(tooLate)
  }

  #watchLease(): void {
    if (this.#cancelExpiry || this.#end) return
    this.#cancelExpiry = whenOver(
      () => this.#lease.remaining(),
      () => {
        this.#loseIfOver()
      },
    )
  }

  #loseIfOver(why?: string): void {
    if (this.#lease.remaining() === 0) this.#lose(why ?? `its lease is over, because ${this.#whyOver()}`)
  }

  #whyOver(): string {
    if (this.#notExtended instanceof Error)
      return `it could not be extended: ${this.#notExtended.message.replace(/\.$/, '')}`
    return this.#cancelKeepAlive ? NOT_EXTENDED : OUTLIVED
  }

  #lose(why: string): void {
    if (!this.#end)
      this.#tellLost(
        this.#errorOf(this.#endWith({ code: 'LOCK_LOST', why })),
        'choose a longer lockAtMostFor',
      )
  }

  #tellLost(error: LockError, advice: string): void {
    if (!this.#report) return
    this.#notify('onLockLost', { error })
    if (hasListeners(this.#report.listeners, 'onLockLost')) return
    // Without a warning, the task would end as if it had kept its lock.
    warn(
      new LockError(
        error.code,
        `${error.message} The task outlived its lock, so another instance may run it at the same time – ${advice}, and let the task stop when its signal aborts.`,
        { lockName: this.name },
      ),
    )
  }

  /** Ends the lock, once: only the first end counts. */
  #endWith(end: End): End {
    if (this.#end) return this.#end
    this.#end = end
    this.#cancelExpiry?.()
    this.#cancelKeepAlive?.()
    for (const cancel of this.#cancelAborts) cancel()
    this.#controller?.abort(this.#errorOf(end))
    return end
  }

  #errorOf(end: End): LockError {
    return (this.#error ??= this.#createError(end))
  }

  #createError({ code, why }: End): LockError {
    return new LockError(code, `Lock '${this.name}' can no longer be trusted: ${why}.`, {
      lockName: this.name,
    })
  }

  #throwUnlessHeld(whyOver?: string): void {
    this.#loseIfOver(whyOver)
    if (this.#end) throw this.#errorOf(this.#end)
  }

  #notify<Method extends keyof EventDetails>(method: Method, details: EventDetails[Method]): void {
    if (this.#report) notify(this.#report.listeners, method, { ...this.#report.event, ...details })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => undefined)
    return turn
  }
}

function parseOutcome<Value>(outcome: Value, option: string, lockName?: string): Value {
  if (['succeeded', 'failed', 'unused'].includes(String(outcome))) return outcome
  throw optionError(option, "'succeeded', 'failed' or 'unused'", lockName)
}
