import type { Break } from '../../scripts/broken-copy'
import { mutations } from '../../scripts/mutations'

/** One way to break the lock, which the simulation must notice. */
export interface Mutant extends Break {
  readonly breaks: string
  /** The rule of the lock, or the kind of defect. */
  readonly what: string
}

/** The suite's mutations that also apply to the databases of the simulation. */
const FROM_THE_SUITE = [
  'a held row is acquired if two processes insert it at once',
  'a held row is acquired',
  'an expired lease is extended',
  'a release and an extension do not check the owner',
  'the owner is the process, not the acquisition',
  'names whose row was seen are remembered and never inserted again',
  'a failed release replaces the outcome of the task',
  'a release without an answer is not repeated',
  'a step has no time limit',
  'a lock whose answer arrived too late is kept',
  'a release that arrives before its acquisition is not repeated',
  'the holder counts its lease from the answer',
  'the signal of a task does not abort when its lock is lost',
  'a row is acquired without checking its slot',
  'the first read accepts a slot that was already acquired',
  'a slot is acquired twice, because it is compared with <=',
  'the current time is written instead of the slot',
  'a slot in the distant future is acquired',
  'a slot whose task did not run is not released with its lock',
  'two acquisitions have the same token',
  'the current time is written even if the previous token is not in the past',
  'an extension shortens the lease',
  'a release is not final, because it leaves the owner',
]

const ofTheSuite: readonly Mutant[] = FROM_THE_SUITE.map((title) => {
  const mutation = mutations.find(({ breaks }) => breaks === title)
  if (!mutation) throw new Error(`scripts/mutations.ts no longer has '${title}'.`)
  const { breaks, file, find, replace, rule } = mutation
  return { breaks, file, find, replace, what: `rule ${rule}` }
})

/** Earlier defects, reintroduced: one for each property of the referee that no mutation of the suite breaks. */
const putBack: readonly Mutant[] = [
  {
    what: 'put back',
    breaks: 'waiting does not stop at the shutdown',
    file: 'src/core/locking-task-executor.ts',
    find: 'const run: TaskRun = { event, stopped: this.#stop.signal }',
    replace: 'const run: TaskRun = { event, stopped: new AbortController().signal }',
  },
  {
    what: 'put back',
    breaks: 'an extension with a late answer revives the lock',
    file: 'src/core/held-lock.ts',
    find: 'this.#throwUnlessHeld(tooLate)\n    if (!extended)',
    replace: "if (this.#end?.code === 'LOCK_LOST') this.#end = undefined\n    if (!extended)",
  },
  {
    what: 'put back',
    breaks: 'the guard does not check that the lock is held',
    file: 'src/sql/guard.ts',
    find: 'if (pinned > 0) return',
    replace: 'if (pinned >= 0) return',
  },
  {
    what: 'put back',
    breaks: 'timers continue after the end of the lock',
    file: 'src/core/held-lock.ts',
    find: 'this.#cancelExpiry?.()\n',
    replace: 'void this.#cancelExpiry\n',
  },
  {
    what: 'refusals are true',
    breaks: 'a busy database is reported as held',
    file: 'src/sql/lock-row.ts',
    find: "return await table.call({ lockName: name, attempt }, 'right')",
    replace:
      "const orHeld = (each: Attempt): Promise<StepResult> =>\n        attempt(each).catch((error: unknown) => {\n          if (error instanceof LostRace || errorKind(table.dialect, error) !== 'transient') throw error\n          return { outcome: 'held' }\n        })\n      return await table.call({ lockName: name, attempt: orHeld }, 'right')",
  },
  {
    what: 'slots',
    breaks: 'an unused lock does not release its slot if its lease is over',
    file: 'src/sql/statements.ts',
    find: "${dialect.plus(lockedAt, raw('-1'))} where ${isOwn}${commits}`",
    replace: "${dialect.plus(lockedAt, raw('-1'))} where ${isOwnHeld}${commits}`",
  },
  {
    what: 'the last run',
    breaks: 'a failed run is recorded as succeeded',
    file: 'src/core/locking-task-executor.ts',
    find: 'await this.#release(lock, event, end.outcome)',
    replace: "await this.#release(lock, event, 'succeeded')",
  },
  {
    what: 'the last run',
    breaks: 'a slot that succeeded is acquired again',
    file: 'src/sql/lock-row.ts',
    find: "if (!token || seen.lastRun.outcome === 'succeeded')",
    replace: 'if (!token)',
  },
  {
    what: 'the last run',
    breaks: 'a slot that failed or died is acquired again without untilSucceeded',
    file: 'src/sql/lock-row.ts',
    find: "result?.outcome === 'already-run' && untilSucceeded",
    replace: "result?.outcome === 'already-run'",
  },
  {
    what: 'the last run',
    breaks: 'a slot that died is not acquired again',
    file: 'src/sql/lock-row.ts',
    find: "seen.lastRun.outcome === 'succeeded'",
    replace: "seen.lastRun.outcome !== 'failed'",
  },
  {
    what: 'the last run',
    breaks: "a crash of the server undoes the recorded outcome of a slot's run",
    file: 'src/sql/statements.ts',
    find: 'releaseSlot: counted(release)',
    replace: 'releaseSlot: counted(dialect.release?.(table, released, isOwn) ?? release)',
  },
]

export const mutants: readonly Mutant[] = [...ofTheSuite, ...putBack]
