import type { LockEvent } from '../history/events'

/** Drivers return whole numbers as numbers or strings, and booleans as booleans or as 0 and 1. */
interface Rows {
  readonly changes: {
    seq: unknown
    changed_at: number
    name: string
    locked_by: string | null
    lock_until: number
    locked_at: number
  }[]
  readonly commits: { run: string; name: string; guarded: unknown; seen: string }[]
  readonly resources: { name: string; value: unknown }[]
}

/** Reads what triggers and tasks have recorded. */
export async function readWitness(rows: (query: string) => unknown): Promise<LockEvent[]> {
  const found = {
    changes: await rows(
      'select seq, changed_at, name, locked_by, lock_until, locked_at from lock_history order by seq',
    ),
    commits: await rows('select run, name, guarded, seen from task_commit'),
    resources: await rows('select name, value from task_resource'),
  } as Rows
  return [
    ...found.changes.map(
      ({ seq, changed_at: at, name, locked_by: lockedBy, lock_until: lockUntil, locked_at: lockedAt }) =>
        ({ type: 'change', seq: Number(seq), at, name, lockedBy, lockUntil, lockedAt }) as const,
    ),
    ...found.commits.map(
      (commit) => ({ type: 'commit', ...commit, guarded: Boolean(commit.guarded) }) as const,
    ),
    ...found.resources.map(({ name, value }) => ({ type: 'resource', name, value: Number(value) }) as const),
  ]
}

/** Returns a statement that records the destruction of all locks, for operations that fire no trigger. */
export function noteDestroyed(now: string): string {
  return `insert into lock_history (changed_at, name, locked_by, lock_until, locked_at) select ${now}, name, null, 0, 0 from task_resource`
}
