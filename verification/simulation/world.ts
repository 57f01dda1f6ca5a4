import { time } from '../../src/core/time'

type Time = typeof time

/** A process, whose clocks the library reads while one of its events happens. */
export interface Process extends Time {
  readonly isDead: boolean
  /** Until when nothing happens in it. */
  readonly suspendedUntil: number
  /** Postpones an event to the end of the suspension. */
  postpone(event: SimulatedEvent): void
}

/** An event in a process, or, if it has no process, in the network or the database. */
export interface SimulatedEvent {
  at: number
  readonly process: Process | undefined
  readonly kind: 'timer' | 'message' | 'other'
  callback: (() => void) | undefined
}

/** A property that does not hold. */
export interface Violation {
  readonly property: string
  readonly message: string
  /** In simulated milliseconds. */
  readonly at: number
}

/** Virtual time and its events, which happen one after another. */
export class World {
  /** Milliseconds since the world began. */
  now = 0
  readonly epoch = Date.UTC(2027, 0, 1)
  violation: Violation | undefined
  events = 0
  readonly lines: string[] | undefined
  /** The future events, the earliest last. Events at the same moment come in the order in which they were added. */
  readonly #queue: SimulatedEvent[] = []
  #running: Process | undefined

  constructor({ traced = false } = {}) {
    this.lines = traced ? [] : undefined
  }

  at(
    pause: number,
    process: Process | undefined,
    kind: SimulatedEvent['kind'],
    callback: () => void,
  ): SimulatedEvent {
    const event: SimulatedEvent = { at: this.now + pause, process, kind, callback }
    this.#add(event)
    return event
  }

  #add(event: SimulatedEvent): void {
    const queue = this.#queue
    let [from, to] = [0, queue.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((queue[middle]?.at ?? 0) > event.at) from = middle + 1
      else to = middle
    }
    queue.splice(from, 0, event)
  }

  /** @param at when it did not hold, if that is only known now */
  fail(property: string, message: string, at = this.now): void {
    this.trace('!', `${property}: ${message}`)
    if (!this.violation || at < this.violation.at) this.violation = { property, message, at }
  }

  trace(who: string, what: string): void {
    this.lines?.push(`${(this.now / 1000).toFixed(4).padStart(10)} s  ${who.padEnd(9)} ${what}`)
  }

  /** Calls `work` as if in this process, so that it uses the process's clocks. */
  as<T>(process: Process, work: () => T): T {
    const before = this.#running
    this.#running = process
    try {
      return work()
    } finally {
      this.#running = before
    }
  }

  /**
   * Replaces the real time of the library by the world's. There can be only one world at a time.
   *
   * @returns a function that restores the real time
   */
  begin(): () => void {
    const original = { ...time }
    const process = (): Process => {
      if (this.#running) return this.#running
      throw new Error('The library read the time outside of a process.')
    }
    Object.assign(time, {
      now: () => process().now(),
      wall: () => process().wall(),
      after: (...all: Parameters<Time['after']>) => process().after(...all),
      jittered: (pause: number) => process().jittered(pause),
    } satisfies typeof time)
    return () => {
      Object.assign(time, original)
    }
  }

  /** Runs until this moment, until no events are left, or until a property does not hold. */
  async run(until: number): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        // Between two immediates, all promises settle that can.
        const turn = (): void => {
          try {
            while (!this.violation) {
              const event = this.#next(until)
              if (!event) break
              if (!event.process) continue
              setImmediate(turn)
              return
            }
            resolve()
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)))
          }
        }
        turn()
      })
    } finally {
      this.#running = undefined
    }
  }

  /** Lets the next event happen. @returns that event; `undefined` if there is none before `until` */
  #next(until: number): SimulatedEvent | undefined {
    const queue = this.#queue
    for (;;) {
      const event = queue.pop()
      if (!event) {
        this.now = until
        return undefined
      }
      if (event.at > until) {
        queue.push(event)
        this.now = until
        return undefined
      }
      const { process, callback } = event
      if (!callback || process?.isDead) continue
      if (process && process.suspendedUntil > event.at) {
        process.postpone(event)
        this.#add(event)
        continue
      }
      this.now = event.at
      this.events++
      this.#running = process
      event.callback = undefined
      callback()
      return event
    }
  }
}
