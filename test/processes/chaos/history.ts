import { readFileSync } from 'node:fs'

/** Milliseconds on the machine's monotonic clock, which all its processes share. */
export const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6

/** What a worker process records about its own runs. A run is identified by the owner of its lock. */
export type ProcessEntry =
  | { type: 'started'; at: number; orm: string; timeLimit: number }
  /** The lock was acquired. Its holder considers it held until `until` on the monotonic clock. */
  | {
      type: 'acquired'
      at: number
      /** When the lock was requested. The database granted it between `asked` and `at`. */
      asked: number
      run: string
      name: string
      until: number
      lockAtMostFor: number
      /** Monotonic: because of `lockAtLeastFor`, no other process may acquire the lock before this time. */
      notBefore: number
    }
  /** The lock was refused as held. */
  | { type: 'refused'; at: number; asked: number; name: string }
  /** An extension was requested. */
  | { type: 'extending'; at: number; run: string; lockAtMostFor: number }
  /** An extension succeeded. Its `lockAtLeastFor`, if any, counts from the acquisition. */
  | { type: 'extended'; at: number; run: string; until: number; lockAtLeastFor?: number }
  /** The lease was over and the process was awake, but the task's signal did not abort in time. */
  | { type: 'unaborted'; at: number; run: string }
  /** The task has ended. */
  | { type: 'ended'; at: number; run: string }
  /** The executor released the lock without reporting a failure. */
  | { type: 'unlocked'; at: number; run: string }
  /** Whether the executor's caller got the task's own value or error. */
  | { type: 'outcome'; at: number; run: string; own: boolean }
  | { type: 'failed'; at: number; code: string }
  /** An unhandled rejection or an uncaught exception ended the process. */
  | { type: 'crash'; at: number; error: string; origin: 'library' | 'driver' }
  /** The process stopped as requested. */
  | { type: 'stopped'; at: number }

/** One change of a lock's row, recorded by a database trigger. Times are epoch milliseconds of the database's clock. */
export interface LockChange {
  readonly seq: number
  readonly at: number
  readonly name: string
  /** `null` if the harness destroyed the row. */
  readonly lockedBy: string | null
  readonly lockUntil: number
  readonly lockedAt: number
}

/** A committed transaction of a task. `seen` is the run that had started last when the transaction wrote. */
export interface Commit {
  readonly run: string
  readonly name: string
  readonly guarded: boolean
  readonly seen: string
}

/** The counter that the lock of this name protects. */
export interface Resource {
  readonly name: string
  readonly value: number
}

/** A fault that the harness injected, with its start and end on both clocks. */
export interface Injection {
  readonly fault: string
  /** Monotonic. */
  readonly from: number
  readonly to: number
  /** Epoch milliseconds. */
  readonly wallFrom: number
  readonly wallTo: number
  /** Whether no process could acquire a lock meanwhile. */
  readonly blocks: boolean
  /** Whether rows of held locks were destroyed. */
  readonly destroys: boolean
}

/** A period in which one kind of fault, or a mixture, was injected. */
export interface Segment {
  readonly fault: string
  readonly from: number
  readonly to: number
  readonly wallFrom: number
  readonly wallTo: number
}

export interface History {
  /** One list for each process. */
  readonly processes: readonly (readonly ProcessEntry[])[]
  readonly changes: readonly LockChange[]
  readonly commits: readonly Commit[]
  readonly resources: readonly Resource[]
  readonly injections: readonly Injection[]
  readonly segments: readonly Segment[]
  /** Locks that could not be acquired at the end. */
  readonly neverFree: readonly string[]
}

/** Reads a process's history, except for the last line: a process that was killed while writing leaves it incomplete. */
export function readProcessHistory(file: string): ProcessEntry[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  lines.pop()
  return lines.map((line) => JSON.parse(line) as ProcessEntry)
}
