import { readFileSync } from 'node:fs'

/** Milliseconds on the machine's monotonic clock, which all its processes share. */
export const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6

/** What a worker process writes down about its own runs. A run is known by the owner text of its lock. */
export type ProcessEntry =
  | { type: 'started'; at: number; orm: string; timeLimit: number }
  /** The lock was handed out, and may be trusted until `until` on the monotonic clock. */
  | {
      type: 'acquired'
      at: number
      /** When it was asked for: the database gave it since. */
      asked: number
      run: string
      name: string
      until: number
      lockAtMostFor: number
      /** Monotonic: nobody else is to have the lock before that, as `lockAtLeastFor` says. */
      notBefore: number
    }
  /** The lock was told as held. */
  | { type: 'refused'; at: number; asked: number; name: string }
  /** An extension was asked for. */
  | { type: 'extending'; at: number; run: string; lockAtMostFor: number }
  /** An extension was answered. `lockAtLeastFor`, if it came with one, counts from the acquisition. */
  | { type: 'extended'; at: number; run: string; until: number; lockAtLeastFor?: number }
  /** The lease was over, the task was awake, and yet its signal did not abort in time. */
  | { type: 'unaborted'; at: number; run: string }
  /** The task is over; from here on it does nothing. */
  | { type: 'ended'; at: number; run: string }
  /** The unlock was answered, as far as the executor says. */
  | { type: 'unlocked'; at: number; run: string }
  /** What the caller of the executor got: the task's own value or error (`true`), or something else. */
  | { type: 'outcome'; at: number; run: string; own: boolean }
  | { type: 'failed'; at: number; code: string }
  /** An unhandled rejection or an uncaught exception; it ended the process. */
  | { type: 'crash'; at: number; error: string; origin: 'library' | 'driver' }
  /** The process stopped when it was asked to. */
  | { type: 'stopped'; at: number }

/** One change of a lock's row, as the database's own trigger saw it; times are epoch milliseconds of its clock. */
export interface LockChange {
  readonly seq: number
  readonly at: number
  readonly name: string
  /** `null`: the row was destroyed by hand. */
  readonly lockedBy: string | null
  readonly lockUntil: number
  readonly lockedAt: number
}

/** A transaction of a task that committed; `seen` is the run that had begun last when it wrote. */
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

/** Something that the harness did, with its begin and end on both clocks. */
export interface Injection {
  readonly fault: string
  /** Monotonic. */
  readonly from: number
  readonly to: number
  /** Epoch milliseconds. */
  readonly wallFrom: number
  readonly wallTo: number
  /** Nobody can take a lock meanwhile. */
  readonly blocks: boolean
  /** Locks were taken away from their holders by hand. */
  readonly destroys: boolean
}

/** What happened while one fault, or the mixture, was injected. */
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
  /** Names that could not be taken when all was over. */
  readonly neverFree: readonly string[]
}

/** The last line may be half a line: its process was killed while it wrote. */
export function readProcessHistory(file: string): ProcessEntry[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  lines.pop()
  return lines.map((line) => JSON.parse(line) as ProcessEntry)
}
