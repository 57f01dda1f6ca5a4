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

/** Earlier defects, reintroduced, and changes that the suite did not notice. */
const putBack: readonly Mutant[] = [
  {
    what: 'put back',
    breaks: 'waiting does not stop at the shutdown',
    file: 'src/core/locking-task-executor.ts',
    find: 'const { stopped } = this.#runs',
    replace: 'const { signal: stopped } = new AbortController()',
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
    breaks: 'a caller gets a lock whose lease was over when the answer arrived',
    file: 'src/core/lock-provider.ts',
    find: 'if (answer.lease.remaining() > 0 && ',
    replace: 'if (answer.lease.remaining() >= 0 && ',
  },
  {
    what: 'put back',
    breaks: 'such a lock is not released',
    file: 'src/core/lock-provider.ts',
    find: "await answer.unlock('unused').catch(warn)",
    replace: 'void warn',
  },
  {
    what: 'put back',
    breaks: 'a release in the background waits for its first attempt for ever',
    file: 'src/sql/background-releases.ts',
    find: 'inTime(release.attempt(), this.limit, ',
    replace: 'inTime(release.attempt(), 2 ** 31 - 1, ',
  },
  {
    what: 'put back',
    breaks: 'a failed release is not repeated in the background',
    file: 'src/sql/acquisition.ts',
    find: "this.#releases.add({ attempt, caller, lease: new Lease(this.#longest), mayArriveLater: 'no' })",
    replace: 'void [caller, this.#releases, this.#longest]',
  },
  {
    what: 'put back',
    breaks: 'a lost connection counts as refused',
    file: 'src/sql/calls.ts',
    find: "if (code === undefined) return 'unanswered'",
    replace: "if (code === undefined) return 'refused'",
  },
  {
    what: 'put back',
    breaks: "the holder's lease ignores that the database's clock is truncated to milliseconds",
    file: 'src/sql/acquisition.ts',
    find: 'const CLOCK_STEP = 1',
    replace: 'const CLOCK_STEP = 0',
  },
  {
    what: 'put back',
    breaks: 'an extension counts from its answer',
    file: 'src/sql/acquisition.ts',
    find: 'if (lease.remaining() > this.lease.remaining()) this.lease = lease',
    replace: 'void lease\n    this.lease = leaseOf(lockAtMostFor)',
  },
  {
    what: 'put back',
    breaks: 'a run that has ended still counts as enclosing the next one',
    file: 'src/core/scope.ts',
    find: 'scope.lock = undefined',
    replace: 'void scope',
  },
  {
    what: 'put back',
    breaks: 'a lock acquired during a shutdown is kept for lockAtLeastFor',
    file: 'src/core/lock-provider.ts',
    find: "await answer.unlock('unused')",
    replace: 'await answer.unlock(undefined)',
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
    breaks: 'the signal of a process that was blocked does not abort when its lease is over',
    file: 'src/core/held-lock.ts',
    find: 'this.#loseIfOver()\n    if (!this.#controller) {',
    replace: 'if (!this.#controller) {',
  },
  {
    what: 'put back',
    breaks: 'timers continue after the end of the lock',
    file: 'src/core/held-lock.ts',
    find: 'this.#cancelExpiry?.()\n',
    replace: 'void this.#cancelExpiry\n',
  },
  {
    what: 'put back',
    breaks: 'a lock is kept if neither its answer nor the end of its connection is reported',
    file: 'src/sql/acquisition.ts',
    find: 'releases.add(release, table.timeLimit)',
    replace: 'releases.add(release, 1e9)',
  },
  {
    what: 'put back',
    breaks: 'the lock of a coordinated run is not released',
    file: 'src/node-cron/shed-lock-coordinator.ts',
    find: 'await end?.()',
    replace: 'void end',
  },
  {
    what: 'put back',
    breaks: 'keep-alive does not repeat a failed extension',
    file: 'src/core/keep-alive.ts',
    find: 'extendAt(remaining - ',
    replace: 'void (remaining - ',
  },
  {
    what: 'refusals are true',
    breaks: 'a busy database is reported as held',
    file: 'src/sql/acquisition.ts',
    find: 'table.call({ lockName: name, attempt }',
    replace:
      "table.call({ lockName: name, attempt: (each: Attempt) => attempt(each).catch((error: unknown) => {\n        if (error instanceof LostRace || errorKind(table.dialect, error) !== 'transient') throw error\n        return { outcome: 'held' as const, row: undefined, lease: leaseOf(lockAtMostFor) }\n      }) }",
  },
  {
    what: 'refusals are true',
    breaks: 'the fourth lost race is reported as held',
    file: 'src/sql/acquisition.ts',
    find: 'table.call({ lockName: name, attempt }',
    replace:
      "table.call({ lockName: name, attempt: (each: Attempt) => attempt(each).catch((error: unknown) => {\n        const times = ((owned as { times?: number }).times = ((owned as { times?: number }).times ?? 0) + 1)\n        if (times < 4 || errorKind(table.dialect, error) !== 'transient') throw error\n        return { outcome: 'held' as const, row: undefined, lease: leaseOf(lockAtMostFor) }\n      }) }",
  },
  {
    what: 'no needless statements',
    breaks: 'the intervals do not grow for a row that does not exist',
    file: 'src/sql/background-releases.ts',
    find: 'entry.interval * UNTIL_FOUND.growth',
    replace: 'entry.interval',
  },
  {
    what: 'no needless statements',
    breaks: 'the intervals do not grow while the database does not answer',
    file: 'src/sql/background-releases.ts',
    find: 'Math.min(this.#interval * 2, longest)',
    replace: 'this.#interval',
  },
  {
    what: 'no needless statements',
    breaks: 'an acquisition that was never sent is released',
    file: 'src/sql/acquisition.ts',
    find: ' && !(error instanceof DriverError && !error.sent)',
    replace: '',
  },
  {
    what: 'no needless statements',
    breaks: 'releases in the background begin after the shutdown',
    file: 'src/sql/background-releases.ts',
    find: 'if (this.#uses === this.#drainedAt || (release.caller && this.#gone.has(release.caller))) return',
    replace: '',
  },
  {
    what: 'nothing leaks',
    breaks: 'the shutdown does not wait for the releases in the background',
    file: 'src/sql/background-releases.ts',
    find: 'await inTime(ended, timeout, ',
    replace: 'await inTime(Promise.resolve(), timeout, ',
  },
  {
    what: 'nothing leaks',
    breaks: 'an abandoned attempt sends its next statement',
    file: 'src/sql/acquisition.ts',
    find: 'if (current.isAbandoned) break',
    replace: 'void current',
  },
  {
    what: 'slots',
    breaks: 'a slot may be an hour ahead',
    file: 'src/sql/acquire.ts',
    find: 'raw(String(SLOT_AT_MOST_AHEAD))',
    replace: "raw('3600000')",
  },
  {
    what: 'slots',
    breaks: 'an unused lock does not release its slot if its lease is over',
    file: 'src/sql/statements.ts',
    find: "${dialect.plus(lockedAt, raw('-1'))}`), ownRow)",
    replace: "${dialect.plus(lockedAt, raw('-1'))}`), held)",
  },
  {
    what: 'keep-alive',
    breaks: 'the limit of keep-alive is ignored',
    file: 'src/core/held-lock.ts',
    find: '() => limit.remaining(),',
    replace: '() => Infinity * limit.remaining(),',
  },
  {
    what: 'the last run',
    breaks: 'a failed run is recorded as succeeded',
    file: 'src/core/locking-task-executor.ts',
    find: "let outcome: UnlockOptions['outcome'] = 'failed'",
    replace: "let outcome: UnlockOptions['outcome'] = 'succeeded'",
  },
  {
    what: 'the last run',
    breaks: 'a successful run is recorded as unlocked',
    file: 'src/sql/acquisition.ts',
    find: "outcome: outcome ?? 'unlocked'",
    replace: "outcome: outcome === 'failed' ? outcome : 'unlocked'",
  },
  {
    what: 'the last run',
    breaks: 'the duration of a run counts from the start of the process',
    file: 'src/sql/acquisition.ts',
    find: 'ended - this.#acquired',
    replace: 'ended - 0 * this.#acquired',
  },
  {
    what: 'the last run',
    breaks: 'a slot that succeeded is acquired again',
    file: 'src/sql/acquisition.ts',
    find: "if (!token || seen.lastRun.outcome === 'succeeded')",
    replace: 'if (!token)',
  },
  {
    what: 'the last run',
    breaks: 'a slot that failed or died is acquired again without untilSucceeded',
    file: 'src/sql/acquisition.ts',
    find: "result?.outcome === 'already-run' && untilSucceeded",
    replace: "result?.outcome === 'already-run'",
  },
  {
    what: 'the last run',
    breaks: 'a slot that died is not acquired again',
    file: 'src/sql/acquisition.ts',
    find: "seen.lastRun.outcome === 'succeeded'",
    replace: "seen.lastRun.outcome !== 'failed'",
  },
  {
    what: 'the last run',
    breaks: 'a slot is acquired again even if the row has changed since it was read',
    file: 'src/sql/acquire.ts',
    find: 'and ${seen} and',
    replace: 'and 1 = 1 and',
  },
  {
    what: 'the last run',
    breaks: "a crash of the server undoes the recorded outcome of a slot's run",
    file: 'src/sql/statements.ts',
    find: 'releaseSlot: update(released(now), ownRow)',
    replace: 'releaseSlot: cheaply(released(now))',
  },
  {
    what: 'the last run',
    breaks: 'a retry has the token of the previous run',
    file: 'src/core/slots.ts',
    find: 'Math.min(retries + 1, RETRY_STEPS - 2)',
    replace: 'Math.min(retries, RETRY_STEPS - 2)',
  },
]

export const mutants: readonly Mutant[] = [...ofTheSuite, ...putBack]
