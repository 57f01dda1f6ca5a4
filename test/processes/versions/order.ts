import type { Connection } from '../app/connection'

/** What one process of a version does. */
export interface InstanceOrder {
  /** The folder of the unpacked package that it loads. */
  readonly folder: string
  /** Begins the owner of its locks. */
  readonly version: string
  readonly process: string
  readonly connection: Connection
  readonly seed: number
  readonly milliseconds: number
  /** The file in which it records what it does. */
  readonly file: string
}

/** Locks for runs, for runs with a slot, and for runs that are paused now and then. */
export const NAMES = { plain: ['plain-1', 'plain-2'], slot: ['slot-1', 'slot-2'], paused: ['paused-1'] }
