import type { History, Injection, LockChange, ProcessEntry } from './history'

/** An empty history. The tests of the checker build small histories on it, in which all clocks are the same. */
export const NOTHING: History = {
  processes: [],
  changes: [],
  commits: [],
  resources: [],
  injections: [],
  segments: [],
  neverFree: [],
}

type Acquired = Extract<ProcessEntry, { type: 'acquired' }>

export const acquired = (run: string, at: number, until: number, more: Partial<Acquired> = {}): Acquired => ({
  type: 'acquired',
  at,
  asked: at,
  run,
  name: 'job',
  until,
  lockAtMostFor: until - at,
  notBefore: at,
  ...more,
})

export const run = (id: string, from: number, to: number, until = to): ProcessEntry[] => [
  acquired(id, from, until),
  { type: 'ended', at: to, run: id },
  { type: 'outcome', at: to + 1, run: id, own: true },
]

/** @param lockedAt must be set for a release that changes the owner; otherwise the owner identifies the acquisition */
export const change = (
  seq: number,
  at: number,
  lockedBy: string | null,
  lockUntil: number,
  lockedAt = seq,
): LockChange => ({ seq, at, name: 'job', lockedBy, lockUntil, lockedAt })

export const injection = (from: number, to: number, what: Partial<Injection>): Injection => ({
  fault: 'x',
  from,
  to,
  wallFrom: from,
  wallTo: to,
  blocks: false,
  destroys: false,
  ...what,
})
