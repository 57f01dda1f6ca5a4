/** Milliseconds on the machine's monotonic clock, which all its processes share. */
export { monotonic } from '../chaos/history'

/** One request for a lock. An `error` is the code and the message. */
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
  /** When the task ended, or when the holder's lease was over, whichever was first. */
  readonly to: number
  readonly token?: number | undefined
  readonly slot?: number | undefined
  /** Whether the run succeeded and its release did not fail. */
  readonly recorded: boolean
  readonly lost: boolean
}

export type Entry = Attempt | Section

/** An uncaught error that ended its process. */
export interface Crash {
  readonly type: 'crash'
  /** Drivers throw errors in their sockets' event handlers. */
  readonly origin: 'library' | 'driver'
  readonly error: string
}

/** One process of an app, and what it recorded. */
export interface Instance {
  readonly orm: string
  /** The index of its address. */
  readonly address: number
  readonly entries: readonly Entry[]
  /** When the process ended. */
  readonly endedAt: number
}

/** A fault, from its start until every process has an answer again. */
export interface Segment {
  readonly fault: string
  readonly from: number
  readonly to: number
  /** For each address, since when new connections lead to a server on which locks can be acquired. */
  readonly reachable: readonly number[]
  /** How many connections the processes opened, and how many were open in the end. */
  readonly connections: { readonly opened: number; readonly left: number }
}

/** The rows that were held at one moment. */
export interface Sample {
  readonly at: number
  readonly owners: readonly string[]
}

export interface History {
  readonly instances: readonly Instance[]
  readonly segments: readonly Segment[]
  readonly samples: readonly Sample[]
  /** The processes that ended without being asked to. */
  readonly crashes: readonly Crash[]
  /** Why the harness gave up, if it did. */
  readonly broken: string | undefined
}
