import type { Orm, ServerName } from '../own-database'

/** A job that is due on every instance at each multiple of `every`. Numbers are in milliseconds. */
export interface Job {
  readonly name: string
  readonly every: number
  readonly lockAtMostFor: number
  readonly runsFor: number
  readonly keepAlive: boolean
}

const SECONDS = [5, 10, 15, 20, 30, 60]

/** Each run ends before the job is due again, and so does the lock of a killed holder. Some jobs outlive their first lease. */
export const JOBS = Array.from({ length: 30 }, (_, each): Job => {
  const every = (SECONDS[each % SECONDS.length] ?? 60) * 1_000
  const keepAlive = each % 5 === 0
  return {
    name: `job ${each}`,
    every,
    lockAtMostFor: Math.min(every * 0.8, keepAlive ? 10_000 : every),
    runsFor: every * (keepAlive ? 0.6 : 0.05),
    keepAlive,
  }
})

export interface Instance {
  readonly orm: Orm
  readonly server: ServerName
  readonly url: string
}

export type MessageToInstance = 'flood' | 'measure' | 'stop'

export type MessageFromInstance =
  | { readonly type: 'ready' }
  | { readonly type: 'began' | 'ended'; readonly name: string; readonly due: number; readonly at: number }
  | { readonly type: 'failed'; readonly error: string }
  | { readonly type: 'memory'; readonly heap: number; readonly rss: number }
