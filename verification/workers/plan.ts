import type { ClientOptions } from './client'
import type { Job } from './jobs'
import type { Ambush, Phase } from './phases'

/** What each process has of its own. */
export interface Identity {
  /** The name of the process in the history. */
  readonly process: string
  /** The file in which it records what it does. */
  readonly file: string
  readonly seed: number
  /** The index of the address of its cluster. */
  readonly address?: number | undefined
}

/** What one process of an app does until it is asked to stop. */
export interface Plan extends Identity, ClientOptions {
  readonly work: Work
  /** Whether its memory is measured, so that it must not keep a stack for each promise. */
  readonly isMeasured?: boolean
}

type Work =
  | {
      /** Loops compete for these locks, and run tasks that are short or long, extended, guarded or kept alive. */
      readonly kind: 'random'
      readonly names: readonly string[]
      readonly loops: number
      readonly lockAtMostFor: number
    }
  | { readonly kind: 'jobs'; readonly jobs: readonly Job[] }
  | { readonly kind: 'leader'; readonly lockAtMostFor: number }

export type MessageToProcess =
  | { readonly type: 'ambush'; readonly ambush: Ambush }
  | { readonly type: 'done' }
  /** Occupy this many connections of the pool for this long. */
  | { readonly type: 'exhaust'; readonly connections: number; readonly milliseconds: number }
  /** Record how much memory is used. */
  | { readonly type: 'measure' }
  | { readonly type: 'stop' }

export type MessageFromProcess =
  { readonly type: 'ready' } | { readonly type: 'reached'; readonly phase: Phase }
