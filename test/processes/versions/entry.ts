import type { WorkerConnection } from '../chaos/chaos-database'
import type { ProcessEntry } from '../chaos/history'

/** What one process is told. */
export interface InstanceOrder {
  /** The folder of the unpacked package that it loads. */
  readonly folder: string
  /** Begins the owner's text of its locks. */
  readonly version: string
  readonly connection: WorkerConnection
  readonly seed: number
  readonly milliseconds: number
  /** Where it writes what it did, one entry a line. */
  readonly file: string
}

/** What it writes down: as the chaos run does, and what two versions could take differently. Times are monotonic. */
export type InstanceEntry =
  | ProcessEntry
  /** It got a lock for this slot. */
  | { type: 'slot'; at: number; run: string; name: string; slot: number }
  /** It paused the lock until this time, unless somebody resumes it. */
  | { type: 'paused'; at: number; asked: number; run: string; name: string; until: number }
  /** It began to resume whatever pause there is. */
  | { type: 'resuming'; at: number; name: string }
  | { type: 'resumed'; at: number; name: string; from: number }
  /** It read this row, written by that version, and took it for this. */
  | { type: 'read'; at: number; author: string; as: string }
  | { type: 'misread'; at: number; what: string }

/** Locks for runs, for runs with a slot, and for runs that are paused now and then. */
export const NAMES = { plain: ['plain-1', 'plain-2'], slot: ['slot-1', 'slot-2'], paused: ['paused-1'] }
