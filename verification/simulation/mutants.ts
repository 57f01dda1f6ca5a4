import type { Break } from '../mutations/broken-copy'
import { mutations } from '../mutations/mutations'

/** Earlier defects, reintroduced: one for each property of the referee that no mutation of the suite breaks. */
const putBack: readonly Break[] = [
  {
    breaks: 'waiting does not stop at the shutdown',
    file: 'src/core/locking-task-executor.ts',
    find: 'report: { event, listeners }, shutdown })',
    replace: 'report: { event, listeners } })',
  },
  {
    breaks: 'an extension with a late answer revives the lock',
    file: 'src/core/held-lock.ts',
    find: 'this.#throwUnlessHeld(tooLate)\n    if (!extended)',
    replace: "if (this.#end?.code === 'LOCK_LOST') this.#end = undefined\n    if (!extended)",
  },
  {
    breaks: 'the guard does not check that the lock is held',
    file: 'src/sql/guard.ts',
    find: 'if (await pins(attempt, pin, values)) return',
    replace: 'if ((await pins(attempt, pin, values)) || values.name) return',
  },
  {
    breaks: 'timers continue after the end of the lock',
    file: 'src/core/held-lock.ts',
    find: 'this.#cancelExpiry?.()\n',
    replace: 'void this.#cancelExpiry\n',
  },
  {
    breaks: 'a busy database is reported as held',
    file: 'src/sql/lock-row.ts',
    find: "return await table.call({ lockName: name, isRepeatable, attempt }, 'right')",
    replace:
      "const orHeld = (each: Attempt): Promise<StepResult> =>\n        attempt(each).catch((error: unknown) => {\n          if (error instanceof LostRace || failureKind(table.dialect, error) !== 'conflict') throw error\n          return { outcome: 'held' }\n        })\n      return await table.call({ lockName: name, isRepeatable, attempt: orHeld }, 'right')",
  },
  {
    breaks: 'an unused lock does not release its slot if its lease is over',
    file: 'src/sql/statements.ts',
    find: "${dialect.plus(lockedAt, raw('-1'))}`, isOwn)",
    replace: "${dialect.plus(lockedAt, raw('-1'))}`, isOwnHeld)",
  },
  {
    breaks: 'a failed run is recorded as succeeded',
    file: 'src/core/locking-task-executor.ts',
    find: 'await lock.end(end.outcome, end.error)',
    replace: "await lock.end('succeeded')",
  },
  {
    breaks: 'a slot that succeeded is acquired again',
    file: 'src/sql/lock-row.ts',
    find: "if (!token || seen.lastRun.outcome === 'succeeded')",
    replace: 'if (!token)',
  },
  {
    breaks: 'a slot that failed or died is acquired again without untilSucceeded',
    file: 'src/sql/lock-row.ts',
    find: "result?.outcome === 'already-run' && untilSucceeded",
    replace: "result?.outcome === 'already-run'",
  },
  {
    breaks: 'a slot that died is not acquired again',
    file: 'src/sql/lock-row.ts',
    find: "seen.lastRun.outcome === 'succeeded'",
    replace: "seen.lastRun.outcome !== 'failed'",
  },
  {
    breaks: "a crash of the server undoes the recorded outcome of a slot's run",
    file: 'src/sql/statements.ts',
    find: 'releaseSlot: update(released, isOwn)',
    replace: 'releaseSlot: update(released, isOwn, { mayBeLost: true })',
  },
]

/** The ways to break the lock that apply to the simulated databases. */
export const mutants: readonly Break[] = [...mutations.filter(({ simulated }) => simulated), ...putBack]
