/** Milliseconds on the machine's monotonic clock, which all its processes share. */
export { monotonic } from '../chaos/history'

/** One request for a lock. `error`: the code and the message. */
export interface Attempt {
  readonly type: 'attempt'
  readonly at: number
  readonly to: number
  readonly job: string
  readonly outcome: 'acquired' | 'refused' | { readonly error: string }
}

/** One run under a lock. */
export interface Section {
  readonly type: 'section'
  readonly job: string
  readonly owner: string
  readonly from: number
  /** When the task ended, or when its holder could no longer trust the lock, whichever was first. */
  readonly to: number
  readonly token?: number | undefined
  readonly slot?: number | undefined
  /** The run succeeded, and its release was answered. */
  readonly recorded: boolean
  readonly lost: boolean
}

export type Entry = Attempt | Section

/** An error that nobody caught ended its process. */
export interface Crash {
  readonly type: 'crash'
  /** Drivers throw out of their sockets' handlers. */
  readonly origin: 'library' | 'driver'
  readonly error: string
}

/** One process of an app, and what it wrote down. */
export interface Instance {
  readonly orm: string
  /** The number of its address. */
  readonly address: number
  readonly entries: readonly Entry[]
  /** When the process ended. */
  readonly endedAt: number
}

/** A fault, from its begin to the begin of the next. */
export interface Segment {
  readonly fault: string
  readonly from: number
  readonly to: number
  /** For each address, since when whoever connects anew finds a server that acquires locks. */
  readonly reachable: readonly number[]
}

/** Rows that were held at one time. */
export interface Sample {
  readonly at: number
  readonly owners: readonly string[]
}

export interface History {
  readonly instances: readonly Instance[]
  readonly segments: readonly Segment[]
  readonly samples: readonly Sample[]
  /** How processes ended that nobody asked to end. */
  readonly crashes: readonly Crash[]
  /** Why the harness gave up. */
  readonly broken: string | undefined
}
