import type { Cancel } from '../../src/core/time'
import { Random } from '../workers/random'
import type { Process, SimulatedEvent, World } from './world'

/** A simulated process, with clocks, timers and random numbers of its own. */
export class SimulatedProcess implements Process {
  isDead = false
  /** Whether it drained its provider while locks were still held or the database did not answer, so that such locks expire. */
  isHasty = false
  /** Until when it is suspended, as by SIGSTOP or a blocked event loop. */
  suspendedUntil = 0
  /** For how long it was suspended in total. */
  suspendedFor = 0
  /** Until when it is cut off from the database. */
  cutOffUntil = 0
  /** The error of its wall clock, in milliseconds. */
  wallOffset = 0
  hadWrongClock = false
  /** When its shutdown began, in simulated milliseconds. */
  stoppingSince = Infinity
  /** Whether it is shutting down, so that its loops begin nothing new. */
  isStopping = false
  /** Timers of the library that have neither fired nor been cancelled. */
  timers = 0
  readonly random: Random
  readonly #origin: number

  constructor(
    readonly world: World,
    readonly name: string,
    seed: number,
    /** The speed of its monotonic clock relative to the world's. */
    readonly rate: number,
  ) {
    this.random = new Random(seed)
    this.#origin = this.random.between(0, 1e7)
  }

  /** Whether it no longer releases its locks. */
  get leavesLocks(): boolean {
    return this.isDead || this.isHasty
  }

  now(): number {
    return this.#origin + this.world.now * this.rate
  }

  wall(): number {
    return this.world.epoch + this.world.now * this.rate + this.wallOffset
  }

  after(pause: number, callback: () => void): Cancel {
    this.timers++
    // As in Node.js, a timer takes at least a millisecond.
    const event = this.world.at(Math.max(1, pause) / this.rate, this, 'timer', () => {
      this.timers--
      callback()
    })
    return () => {
      if (event.callback) this.timers--
      event.callback = undefined
    }
  }

  jittered(pause: number): number {
    return pause * (0.5 + this.random.next() / 2)
  }

  /** Waits, without a timer of the library. */
  sleep(pause: number): Promise<void> {
    return new Promise((resolve) => {
      this.world.at(pause, this, 'other', resolve)
    })
  }

  /** Returns the simulated time in milliseconds, minus the time in which the process was suspended. */
  awake(): number {
    return this.world.now - this.suspendedFor
  }

  suspend(length: number): void {
    const until = this.world.now + length
    this.suspendedFor += Math.max(0, until - Math.max(this.suspendedUntil, this.world.now))
    this.suspendedUntil = Math.max(this.suspendedUntil, until)
  }

  /** Timers keep their order; messages come before or after them at random. */
  postpone(event: SimulatedEvent): void {
    event.at = this.suspendedUntil + (event.kind === 'message' ? this.random.next() * 0.01 : 0.005)
  }
}
