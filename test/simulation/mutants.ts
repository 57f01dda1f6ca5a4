import type { Break } from '../../scripts/broken-copy'
import { mutations } from '../../scripts/mutations'

/** One way to break the lock, which the simulation has to notice. */
export interface Mutant extends Break {
  readonly breaks: string
  /** The rule of the lock, or how the defect is called in the maintainers' page. */
  readonly what: string
}

/** Rules that have a mutation for the suite, which is about databases that the simulation has. */
const FROM_THE_SUITE = [
  'a held row is acquired when two make it at once',
  'a held row is acquired',
  'a lease that is over is extended',
  'unlock and extend do not ask for the owner',
  'the owner is the process, not the acquisition',
  'names whose row was seen are remembered, and not inserted again',
  'a failed unlock replaces the outcome of the task',
  'an unlock whose answer was lost is not repeated',
  'a step has no time limit',
  'a lock that came too late is kept',
  'an unlock that comes before its acquire is not repeated',
  'the lease of the holder begins with the answer',
  'the task is not told that its lock is lost',
  'a row is acquired whatever slot it had',
  'the look lets a slot through that was acquired before',
  'a slot is acquired twice: it is compared with <=',
  'the time is written, not the slot',
  'a slot whose task did not run is not released with its lock',
  'two acquisitions have one token',
  'the time is written even when the one before is not past',
  'an extension shortens',
  'an unlock is not final: it leaves the owner',
]

const ofTheSuite: readonly Mutant[] = FROM_THE_SUITE.map((title) => {
  const mutation = mutations.find(({ breaks }) => breaks === title)
  if (!mutation) throw new Error(`scripts/mutations.ts no longer has '${title}'.`)
  const { breaks, file, find, replace, rule } = mutation
  return { breaks, file, find, replace, what: `rule ${rule}` }
})

/** Defects that were there once, put back; and changes that a suite of single tests did not notice. */
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
    breaks: 'an extension that was answered late brings the lock back',
    file: 'src/core/held-lock.ts',
    find: 'this.#throwUnlessHeld(tooLate)\n    if (!extended)',
    replace: "if (this.#end?.code === 'LOCK_LOST') this.#end = undefined\n    if (!extended)",
  },
  {
    what: 'put back',
    breaks: 'a lock is handed out whose lease was over when the answer came',
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
    breaks: 'an unlock in the background waits for its first attempt for ever',
    file: 'src/sql/background-releases.ts',
    find: 'inTime(release.attempt(), this.limit, ',
    replace: 'inTime(release.attempt(), 2 ** 31 - 1, ',
  },
  {
    what: 'put back',
    breaks: 'an unlock that failed is not tried again in the background',
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
    breaks: 'the lease of the holder does not care that the clock is cut to milliseconds',
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
    breaks: 'a run that has ended still counts as one around the next',
    file: 'src/core/scope.ts',
    find: 'scope.lock = undefined',
    replace: 'void scope',
  },
  {
    what: 'put back',
    breaks: 'a lock that the shutdown came before is kept for lockAtLeastFor',
    file: 'src/core/lock-provider.ts',
    find: "await answer.unlock('unused')",
    replace: 'await answer.unlock(undefined)',
  },
  {
    what: 'put back',
    breaks: 'the guard does not ask whether the lock is held',
    file: 'src/sql/guard.ts',
    find: 'if (pinned > 0) return',
    replace: 'if (pinned >= 0) return',
  },
  {
    what: 'put back',
    breaks: 'a process that was blocked does not see by the signal that its lease is over',
    file: 'src/core/held-lock.ts',
    find: 'this.#loseIfOver()\n    if (!this.#controller) {',
    replace: 'if (!this.#controller) {',
  },
  {
    what: 'put back',
    breaks: 'timers go on after the end of the lock',
    file: 'src/core/held-lock.ts',
    find: 'this.#cancelExpiry?.()\n',
    replace: 'void this.#cancelExpiry\n',
  },
  {
    what: 'put back',
    breaks: 'a lock whose answer is never told, nor that the connection is gone, is kept',
    file: 'src/sql/acquisition.ts',
    find: 'releases.add(release, table.timeLimit)',
    replace: 'releases.add(release, 1e9)',
  },
  {
    what: 'put back',
    breaks: 'a run by the coordinator is not released',
    file: 'src/node-cron/shed-lock-coordinator.ts',
    find: 'await end?.()',
    replace: 'void end',
  },
  {
    what: 'put back',
    breaks: 'an extension that failed is not tried again by keep-alive',
    file: 'src/core/keep-alive.ts',
    find: 'extendAt(remaining - ',
    replace: 'void (remaining - ',
  },
  {
    what: 'held is seen',
    breaks: 'a busy database is told as held',
    file: 'src/sql/acquisition.ts',
    find: 'table.call({ lockName: name, attempt }',
    replace:
      "table.call({ lockName: name, attempt: (each: Attempt) => attempt(each).catch((error: unknown) => {\n        if (error instanceof LostRace || errorKind(table.dialect, error) !== 'transient') throw error\n        return { outcome: 'held' as const, row: undefined, lease: leaseOf(lockAtMostFor) }\n      }) }",
  },
  {
    what: 'held is seen',
    breaks: 'a lost race is told as held when it comes the fourth time',
    file: 'src/sql/acquisition.ts',
    find: 'table.call({ lockName: name, attempt }',
    replace:
      "table.call({ lockName: name, attempt: (each: Attempt) => attempt(each).catch((error: unknown) => {\n        const times = ((owned as { times?: number }).times = ((owned as { times?: number }).times ?? 0) + 1)\n        if (times < 4 || errorKind(table.dialect, error) !== 'transient') throw error\n        return { outcome: 'held' as const, row: undefined, lease: leaseOf(lockAtMostFor) }\n      }) }",
  },
  {
    what: 'nothing goes on asking',
    breaks: 'the pauses do not grow for a row that was not there',
    file: 'src/sql/background-releases.ts',
    find: 'entry.pause * UNTIL_FOUND.growth',
    replace: 'entry.pause',
  },
  {
    what: 'nothing goes on asking',
    breaks: 'the pauses do not grow while the database does not answer',
    file: 'src/sql/background-releases.ts',
    find: 'Math.min(this.#pause * 2, longest)',
    replace: 'this.#pause',
  },
  {
    what: 'nothing goes on asking',
    breaks: 'an acquisition that was never sent is released',
    file: 'src/sql/acquisition.ts',
    find: ' && !(error instanceof DriverError && !error.sent)',
    replace: '',
  },
  {
    what: 'nothing goes on asking',
    breaks: 'releases in the background begin after the end',
    file: 'src/sql/background-releases.ts',
    find: 'if (this.#uses === this.#drainedAt || (release.caller && this.#gone.has(release.caller))) return',
    replace: '',
  },
  {
    what: 'nothing leaks',
    breaks: 'the end does not wait for the releases in the background',
    file: 'src/sql/background-releases.ts',
    find: 'await inTime(ended, timeout, ',
    replace: 'await inTime(Promise.resolve(), timeout, ',
  },
  {
    what: 'nothing leaks',
    breaks: 'an attempt that nobody waits for any more goes on to its next statement',
    file: 'src/sql/acquisition.ts',
    find: 'if (current.isAbandoned) break',
    replace: 'void current',
  },
  {
    what: 'slots',
    breaks: 'a slot may lie an hour ahead',
    file: 'src/sql/acquire.ts',
    find: 'raw(String(SLOT_AT_MOST_AHEAD))',
    replace: "raw('3600000')",
  },
  {
    what: 'slots',
    breaks: 'a slot is not released with its lock when the lease of the unused lock is over',
    file: 'src/sql/statements.ts',
    find: "${dialect.plus(lockedAt, raw('-1'))}`), mine)",
    replace: "${dialect.plus(lockedAt, raw('-1'))}`), held)",
  },
  {
    what: 'keep-alive',
    breaks: 'the limit is ignored',
    file: 'src/core/held-lock.ts',
    find: '() => limit.remaining(),',
    replace: '() => Infinity * limit.remaining(),',
  },
  {
    what: 'the last run',
    breaks: 'a run that failed is told as succeeded',
    file: 'src/core/locking-task-executor.ts',
    find: "let outcome: UnlockOptions['outcome'] = 'failed'",
    replace: "let outcome: UnlockOptions['outcome'] = 'succeeded'",
  },
  {
    what: 'the last run',
    breaks: 'a run that succeeded is told as unlocked',
    file: 'src/sql/acquisition.ts',
    find: "outcome: outcome ?? 'unlocked'",
    replace: "outcome: outcome === 'failed' ? outcome : 'unlocked'",
  },
  {
    what: 'the last run',
    breaks: 'it counts how long a run took from the start of the process',
    file: 'src/sql/acquisition.ts',
    find: 'ended - this.#acquired',
    replace: 'ended - 0 * this.#acquired',
  },
  {
    what: 'the last run',
    breaks: 'a slot that succeeded is given again',
    file: 'src/sql/acquisition.ts',
    find: "if (!token || seen.lastRun.outcome === 'succeeded')",
    replace: 'if (!token)',
  },
  {
    what: 'the last run',
    breaks: 'a slot that failed or died is given again though nobody asked for that',
    file: 'src/sql/acquisition.ts',
    find: "result?.outcome === 'already-run' && untilSucceeded",
    replace: "result?.outcome === 'already-run'",
  },
  {
    what: 'the last run',
    breaks: 'a slot that died is not given again',
    file: 'src/sql/acquisition.ts',
    find: "seen.lastRun.outcome === 'succeeded'",
    replace: "seen.lastRun.outcome !== 'failed'",
  },
  {
    what: 'the last run',
    breaks: 'a slot is acquired again whatever the row has become since it was seen',
    file: 'src/sql/acquire.ts',
    find: 'and ${seen} and',
    replace: 'and 1 = 1 and',
  },
  {
    what: 'the last run',
    breaks: 'a crash of the server undoes how the run of a slot ended',
    file: 'src/sql/statements.ts',
    find: 'releaseSlot: update(released(now), mine)',
    replace: 'releaseSlot: cheaply(released(now))',
  },
  {
    what: 'the last run',
    breaks: 'a retry has the token of the run before',
    file: 'src/core/slots.ts',
    find: 'Math.min(retries + 1, RETRY_STEPS - 2)',
    replace: 'Math.min(retries, RETRY_STEPS - 2)',
  },
]

export const mutants: readonly Mutant[] = [...ofTheSuite, ...putBack]
