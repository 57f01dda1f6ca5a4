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
  'a held row is taken when two make it at once',
  'a held row is taken',
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
  'a row is taken whatever slot it had',
  'the look lets a slot through that was given',
  'a slot is given twice: it is compared with <=',
  'the time is written, not the slot',
  'a slot whose task did not run is not given back',
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
    find: 'const signal = this.#runs.stopped',
    replace: 'const { signal } = new AbortController()',
  },
  {
    what: 'put back',
    breaks: 'an extension that was answered late brings the lock back',
    file: 'src/core/held-lock.ts',
    find: 'if (this.#lost) throw this.#lost\n    if (this.#keepAliveFor',
    replace: "if (this.#lost) this.#state = 'held'\n    if (this.#keepAliveFor",
  },
  {
    what: 'put back',
    breaks: 'a lock is handed out whose lease was over when the answer came',
    file: 'src/sql/sql-lock-provider.ts',
    find: 'if (lease.remaining() === 0) {',
    replace: 'if (lease.remaining() < 0) {',
  },
  {
    what: 'put back',
    breaks: 'such a lock is not released',
    file: 'src/sql/sql-lock-provider.ts',
    find: "void this.#rows.free(holder, 'unused', new Lease(lockAtMostFor))",
    replace: 'void holder',
  },
  {
    what: 'put back',
    breaks: 'an unlock in the background waits for its first attempt for ever',
    file: 'src/sql/lock-rows.ts',
    find: 'each: () => this.timeLimit,',
    replace: '',
  },
  {
    what: 'put back',
    breaks: 'an unlock that failed is not tried again in the background',
    file: 'src/sql/lock-rows.ts',
    find: 'void this.free(holder, lockAtLeastFor, reach)',
    replace: 'void reach',
  },
  {
    what: 'put back',
    breaks: 'a lost connection counts as refused',
    file: 'src/sql/error-kind.ts',
    find: "if (code === undefined) return 'unanswered'",
    replace: "if (code === undefined) return 'refused'",
  },
  {
    what: 'put back',
    breaks: 'the lease of the holder does not care that the clock is cut to milliseconds',
    file: 'src/sql/sql-acquisition.ts',
    find: 'const CLOCK_STEP = 1',
    replace: 'const CLOCK_STEP = 0',
  },
  {
    what: 'put back',
    breaks: 'an extension counts from its answer',
    file: 'src/sql/sql-acquisition.ts',
    find: 'return (this.#lease = later(this.#lease, asked))',
    replace: 'return (this.#lease = later(this.#lease, leaseOf(lockAtMostFor)))',
  },
  {
    what: 'put back',
    breaks: 'an extension takes the lease of the row for its own, however long the one before was',
    file: 'src/sql/sql-acquisition.ts',
    find: 'return (this.#lease = later(this.#lease, asked))',
    replace: 'return (this.#lease = asked)',
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
    file: 'src/core/locking-task-executor.ts',
    find: 'let early = true',
    replace: 'let early = false',
  },
  {
    what: 'put back',
    breaks: 'the guard does not ask whether the lock is held',
    file: 'src/sql/guard-transaction.ts',
    find: 'return rows > 0',
    replace: 'return rows >= 0',
  },
  {
    what: 'put back',
    breaks: 'what is done once begins though its lock is over',
    file: 'src/sql/execute-once.ts',
    find: 'context.signal.throwIfAborted()',
    replace: 'void context',
  },
  {
    what: 'put back',
    breaks: 'a process that was blocked does not see by the signal that its lease is over',
    file: 'src/core/held-lock.ts',
    find: 'if (this.#lease.remaining() === 0) this.lose(LEASE_IS_OVER)',
    replace: '',
  },
  {
    what: 'put back',
    breaks: 'timers go on after the end of the lock',
    file: 'src/core/held-lock.ts',
    find: '  async end({ early = false } = {}): Promise<void> {\n    this.#stopTimers()',
    replace: '  async end({ early = false } = {}): Promise<void> {',
  },
  {
    what: 'put back',
    breaks: 'a lock whose answer is never told, nor that the connection is gone, is kept',
    file: 'src/sql/taking.ts',
    find: 'const cancel = time.after(rows.timeLimit, silent, false)',
    replace: 'const cancel = time.after(1e9, silent, false)',
  },
  {
    what: 'put back',
    breaks: 'what is to be done once is refused by a wrong clock of the process',
    file: 'src/sql/execute-once.ts',
    find: 'const now = locks[0]?.now.getTime() ?? slot',
    replace: "const { wall } = require('../core').time as { wall(): number }\n    const now = wall()",
  },
  {
    what: 'put back',
    breaks: 'a run by the coordinator is not released',
    file: 'src/node-cron/coordinated-run.ts',
    find: 'await this.#lock?.unlock()',
    replace: 'await Promise.resolve()',
  },
  {
    what: 'put back',
    breaks: 'an extension that failed is not tried again by keep-alive',
    file: 'src/core/held-lock.ts',
    find: 'if (remaining > 0)\n',
    replace: 'if (remaining < 0)\n',
  },
]

export const mutants: readonly Mutant[] = [...ofTheSuite, ...putBack]
