import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'

/** Milliseconds on the machine's monotonic clock, which all its processes share. */
export const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6

/**
 * Begins a period on both clocks, by which times of one are converted to the other. So they are read within a millisecond: a busy
 * machine may stop the process in between.
 *
 * @returns a function that ends the period
 */
export function beginPeriod(): () => Period {
  for (;;) {
    const [from, wallFrom] = [monotonic(), Date.now()]
    if (monotonic() - from < 1) return () => ({ from, to: monotonic(), wallFrom, wallTo: Date.now() })
  }
}

/**
 * What a process records about itself. A run is identified by the owner of its lock. Times are monotonic; `asked` is when a request
 * was sent, and `at` when its answer arrived.
 */
export type ProcessEntry =
  | { type: 'started'; at: number; orm: string; address?: number | undefined; version?: string }
  /** The lock was acquired. Its holder considers it held until `until`. */
  | {
      type: 'acquired'
      at: number
      asked: number
      run: string
      name: string
      until: number
      lockAtMostFor: number
      /** Because of `lockAtLeastFor`, no other process may acquire the lock before this time. */
      notBefore: number
    }
  | {
      type: 'refused'
      at: number
      asked: number
      name: string
      reason: string
      slot?: number | undefined
      until?: boolean | undefined
    }
  | { type: 'failed'; at: number; asked: number; name: string; error: string }
  /** The run is for this slot, which may be run again `until` a run of it has succeeded. */
  | { type: 'slot'; at: number; run: string; name: string; slot: number; until?: boolean | undefined }
  | { type: 'token'; at: number; run: string; token: number }
  /** The process still considers the lock held, whatever it knew about the end of its lease. */
  | { type: 'held'; at: number; run: string }
  /** An extension was requested. */
  | { type: 'extending'; at: number; run: string; lockAtMostFor: number }
  /** An extension succeeded. Its `lockAtLeastFor`, if any, counts from the acquisition. */
  | { type: 'extended'; at: number; run: string; until: number; lockAtLeastFor?: number | undefined }
  /** The lease was over and the process was awake, but the task's signal did not abort in time. */
  | { type: 'unaborted'; at: number; run: string }
  /** The task has ended. `lost`: its signal said that the lock was lost. */
  | { type: 'ended'; at: number; run: string; succeeded?: boolean | undefined; lost?: boolean }
  /** The lock was released without a failure. */
  | { type: 'unlocked'; at: number; run: string }
  /** Whether the executor's caller got the task's own value or error. */
  | { type: 'outcome'; at: number; run: string; own: boolean }
  /** The process paused the lock until this time, unless another one resumes it. */
  | { type: 'paused'; at: number; asked: number; run: string; name: string; until: number }
  /** The process began to resume any pause of the lock. */
  | { type: 'resuming'; at: number; name: string }
  | { type: 'resumed'; at: number; name: string; from: number }
  /** The process read a row that some version wrote. */
  | { type: 'read'; at: number }
  | { type: 'misread'; at: number; what: string }
  /** An unhandled rejection or an uncaught exception ended the process. */
  | { type: 'crash'; at: number; error: string; origin: 'library' | 'driver' }
  /** After a collection of its garbage, in bytes. */
  | { type: 'memory'; at: number; heap: number; rss: number }
  /** The process stopped as requested. */
  | { type: 'stopped'; at: number }
  /** Recorded by the harness. */
  | { type: 'exited'; at: number }

export type ProcessEvent = ProcessEntry & { readonly process: string }

/** One change of a lock's row, recorded by a database trigger. Times are epoch milliseconds of the database's clock. */
export interface LockChange {
  readonly type: 'change'
  readonly seq: number
  readonly at: number
  readonly name: string
  /** `null` if the harness destroyed the row. */
  readonly lockedBy: string | null
  readonly lockUntil: number
  readonly lockedAt: number
  /** If the harness knows them exactly: the monotonic times of the change and of the end of the lease. */
  readonly exact?: { readonly at: number; readonly end: number }
}

/** A committed transaction of a task. `seen` is the run that had started last when the transaction wrote. */
export interface Commit {
  readonly type: 'commit'
  readonly run: string
  readonly name: string
  readonly guarded: boolean
  readonly seen: string
}

/** A period on both clocks: monotonic, and epoch milliseconds. */
type Period = Readonly<Record<'from' | 'to' | 'wallFrom' | 'wallTo', number>>

/** A fault that the harness injected. */
export interface Injection extends Period {
  readonly type: 'fault'
  readonly fault: string
  /** Whether no process could acquire a lock meanwhile. */
  readonly blocks: boolean
  /** Whether rows of held locks were destroyed. */
  readonly destroys: boolean
  /** The only lock that the fault concerns. */
  readonly name?: string
}

/** How exact the harness is. All times are in milliseconds. */
export interface Limits {
  readonly type: 'limits'
  /** How much the machine's two clocks and the time of the trigger may differ. */
  readonly tolerance: number
  /** By how much one clock may be faster than another: 2e-4 for 200 millionths. */
  readonly drift: number
  /** The longest time limit of a process, within which every release becomes visible. */
  readonly timeLimit: number
  /** How long a statement may take to arrive. */
  readonly latestDelivery: number
  /** How long a lock may stay free while no fault prevents its acquisition. */
  readonly longestUntaken: number
}

/** A period in which one kind of fault, or a mixture, was injected. */
export interface Segment extends Period {
  readonly type: 'segment'
  readonly fault: string
  /** For each address of a cluster, since when new connections lead to a server on which locks can be acquired. */
  readonly reachable?: readonly number[]
  /** By how many milliseconds the next server's clock is ahead, so that leases end earlier by as much. */
  readonly clockAhead?: number
}

export type LockEvent =
  | ProcessEvent
  | LockChange
  | Commit
  /** The counter that the lock of this name protects. */
  | { readonly type: 'resource'; readonly name: string; readonly value: number }
  | Injection
  | Segment
  | Limits
  /** The owners of the rows that were held at one moment. */
  | { readonly type: 'rows'; readonly at: number; readonly owners: readonly string[] }
  /** A lock that could not be acquired at the end. */
  | { readonly type: 'never free'; readonly name: string }
  /** The cluster may lose acknowledged writes, so that a run must show overlaps: otherwise the harness detects nothing. */
  | { readonly type: 'loses writes' }
  /** The harness gave up. */
  | { readonly type: 'gave up'; readonly error: string }

export type EventOf<Type extends LockEvent['type']> = Extract<LockEvent, { type: Type }>

/** Records what a process does in its file, one event a line. It is written at once, because the process may be killed. */
export const recorder =
  (file: string, process: string) =>
  (entry: ProcessEntry): void =>
    appendFileSync(file, `${JSON.stringify({ process, ...entry })}\n`)

export function writeEvents(file: string, events: readonly LockEvent[]): void {
  writeFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''))
}

/** Reads events, except for an incomplete last line, which a process leaves that was killed while writing. */
export function readEvents(file: string): LockEvent[] {
  return parseEvents(readFileSync(file, 'utf8'))
}

export function parseEvents(text: string): LockEvent[] {
  const lines = text.split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as LockEvent)
}
