import type { Cancel, Time } from '../../src/core/time'
import { Random } from '../processes/chaos/random'
import type { SimulatedEvent } from './event-queue'
import type { World } from './world'

/** A process from its start to its end, with clocks, timers and chance of its own. */
export class SimulatedProcess implements Time {
  isDead = false
  /** Drained its provider while some still held locks, or the database did not answer: what could not be released expires. */
  isHasty = false
  /** Stopped, as by SIGSTOP, or with a blocked event loop: nothing happens in it before. */
  suspendedUntil = 0
  /** For how long it was suspended in all. */
  suspendedFor = 0
  /** Cut off from the database until then. */
  cutOffUntil = 0
  /** How wrong its wall clock is, in milliseconds. */
  wallOffset = 0
  hadWrongClock = false
  /** When its shutdown began, in simulated milliseconds. */
  stoppingSince = Infinity
  /** When its last caller had gone, in simulated milliseconds. */
  endedAt = Infinity
  /** No loop of it begins anything new. */
  isStopping = false
  /** Timers of the library that have neither fired nor been cancelled. */
  timers = 0
  readonly random: Random
  readonly #origin: number

  constructor(
    readonly world: World,
    readonly name: string,
    seed: number,
    /** How fast its monotonic clock runs, beside the world's. */
    readonly rate: number,
  ) {
    this.random = new Random(seed)
    this.#origin = this.random.between(0, 1e7)
  }

  /** Nobody releases its locks any more. */
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
    // As Node.js does it: at least a millisecond.
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

  /** For what the process does beside the library. */
  sleep(pause: number): Promise<void> {
    return new Promise((resolve) => {
      this.world.at(pause, this, 'other', resolve)
    })
  }

  /** How long it has lived in milliseconds, without the time in which it was suspended. */
  awake(): number {
    return this.world.now - this.suspendedFor
  }

  suspend(length: number): void {
    const until = this.world.now + length
    this.suspendedFor += Math.max(0, until - Math.max(this.suspendedUntil, this.world.now))
    this.suspendedUntil = Math.max(this.suspendedUntil, until)
  }

  /** What was due meanwhile: timers in their order, messages among them in any. */
  postpone(event: SimulatedEvent): void {
    event.at = this.suspendedUntil + (event.kind === 'message' ? this.random.next() * 0.01 : 0.005)
  }
}
