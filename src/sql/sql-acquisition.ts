import type { Dialect, Pin } from './dialect'
import type { Values } from './statement'

/** One acquisition of a lock in SQL: what it takes to find its row again. Opaque to the core, which hands it around. */
export class SqlAcquisition {
  constructor(
    readonly dialect: Dialect,
    readonly pin: Pin,
    readonly values: Required<Pick<Values, 'name' | 'lockedBy'>>,
  ) {}
}
