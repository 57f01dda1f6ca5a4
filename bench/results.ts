import type { Contention } from './contenders'
import type { Cost } from './costs'
import type { Quarter } from './day'
import type { EntryPoint } from './entry-points'
import type { Crowd, Growth } from './growth'
import type { Measured } from './measure'
import type { Memory } from './memory'
import type { Network } from './network'
import type { StatementShapes } from './statement-shapes'

/** The output of `--json`. */
export interface Results {
  readonly measured: { readonly date: string; readonly commit: string }
  /** The commit at which the contenders were measured, if that was another run, on another machine. Added by hand. */
  readonly contendersMeasured?: string
  readonly machine: Readonly<Record<string, string>>
  readonly databases: Readonly<Record<string, DatabaseResults>>
  readonly memory: Memory
  readonly day?: readonly Quarter[]
  readonly entryPoints: readonly EntryPoint[]
  readonly installedBytes: number
}

export interface DatabaseResults {
  readonly version: string
  readonly statements: StatementShapes
  readonly operations: readonly Measured[]
  readonly costs: readonly Cost[]
  /** Empty for a database in a file. */
  readonly network?: readonly Network[]
  readonly contention: readonly Contention[]
  readonly growth: readonly Growth[]
  readonly crowd: readonly Crowd[]
}

/** A line of the output of `npm run flood -- held locked --json`. In milliseconds: how long the app's own queries take. */
export interface BlockedRow {
  readonly server: string
  readonly orm: string
  readonly row: 'held' | 'locked'
  readonly p50: number
  readonly p99: number
}

/** A line of the output of `npm run flood -- ended frozen --json`. In milliseconds: how long the first lock takes. */
export interface Thaw {
  readonly server: string
  readonly orm: string
  readonly death: 'ended by the server' | 'silent'
  readonly p50: number
}

/** A line of the output of `npm run flood -- flood --json`. In milliseconds: how long another lock waited at most. */
export interface Flood {
  readonly server: string
  readonly orm: string
  /** Connections of the lock's own, or the app's pool. */
  readonly way: string
  readonly longest: number
}

/** A line of the output of `npm run soak`: since it began. */
export interface Soak {
  readonly server: string
  readonly minutes: number
  readonly dueTimes: number
  /** The due times without a run. */
  readonly missed: readonly string[]
  readonly rows: number
  readonly connections: number
  /** In bytes, of the instances that live for the whole hour: one with TypeORM, one with Prisma. */
  readonly memory: readonly { readonly heap: number }[]
}
