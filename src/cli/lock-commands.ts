import { InvalidArgumentError, type Command } from 'commander'
import { aDuration, parseLockName, formatDuration } from '../core/internal'
import { jobView, LOST, printable, summary, type OverdueLock } from '../sql/internal'
import { ExitCode, wrongUsage } from './command-error'
import { onDatabase } from './connect'
import { ANOTHER_CLOCK, details, existingLock, forJson, table } from './describe-lock'
import { labelled, terminalWidth } from './layout'
import { readDuration } from './options'
import { COMMAND, print, printJson } from './output'

const NONE =
  'There are no locks: the first run of a job creates its lock. If jobs have run already, check whether they use this table.'

export type Limits = Readonly<Record<string, string>>

/** Adds the commands that only read. */
export function addLockCommands(program: Command): void {
  const list = program
    .command('list')
    .argument('[name]', 'show only this lock, with all that is known of it')
    .summary('list the locks, or show one: who holds what, since when, until when')
    .description(
      'Lists the jobs by their locks, those that need a person first. A terminal shows the columns that fit its width; a pipe gets all, with times in UTC and by the clock of the database. With a name it shows that lock; exit status 1 if there is no such lock. Otherwise 0, even if a job is stuck: see check.',
    )
  onDatabase(list, ['held', 'json'], async ({ provider }, { held, json }, name?: string) => {
    if (name !== undefined) {
      const lock = await existingLock(provider, name)
      if (json) printJson(forJson(lock))
      else print(details(lock))
      return
    }
    const locks = (await provider.table.list()).filter((lock) => lock.held || !held)
    if (json) printJson(locks.map(forJson))
    else {
      const views = locks.map((lock) => jobView(lock.name, lock))
      print(views.length > 0 ? table(views, terminalWidth()) : held ? 'No lock is held.' : NONE)
      // Not in a pipe, where each line is a lock.
      if (views.length > 0 && process.stdout.isTTY) print(`\n${summary(views)}.`)
    }
  })

  const check = program
    .command('check')
    .argument('[limits...]', 'name=duration: how long ago each lock may have been acquired last', addLimit)
    .usage('[<name>=<duration>...] [options]')
    .summary('find jobs that did not run in time')
    .description(
      'Finds out when each lock was last acquired, by the clock of the database, and prints a line for each that was acquired longer ago, or never, or by a clock that is ahead: for probes and monitoring. With --must-have-succeeded it also prints a line for each whose last run failed, died, outlived its lease, or is not known to have succeeded. A lock that is paused is not overdue. Exit status 1 if it printed a line.',
    )
  check.hook('preAction', () => {
    const [limits] = check.processedArgs as [Limits?]
    if (Object.keys(limits ?? {}).length === 0)
      throw wrongUsage(`Name the jobs, such as: ${COMMAND} check report=25h vacuum=7d.`)
  })
  onDatabase(
    check,
    ['mustHaveSucceeded', 'runningAtMost', 'json'],
    async ({ provider }, flags, limits: Limits) => {
      const { mustHaveSucceeded, runningAtMost, json } = flags
      const overdue = await provider.table.overdue(limits, { mustHaveSucceeded, runningAtMost })
      if (json)
        printJson(overdue.map(({ lockedAt = null, age = null, ...each }) => ({ ...each, lockedAt, age })))
      else if (overdue.length === 0) print('No lock is overdue.')
      else
        print(
          labelled(overdue.map((lock) => [[printable(lock.name), 'red'], why(lock, limits, runningAtMost)])),
        )
      if (overdue.length > 0) process.exitCode = ExitCode.no
    },
  )
}

/** Splits at the last equals sign, because a name may contain one and a duration cannot. */
export function addLimit(text: string, limits: Limits = {}): Limits {
  const [, name = '', limit = ''] = /^(.*)=(.*)$/s.exec(text) ?? []
  if (name === '') throw new InvalidArgumentError('It must be name=duration, such as report=25h.')
  // Validate the limit before connecting.
  aDuration(readDuration(limit), 'the limit', parseLockName(name))
  return { ...limits, [name]: limit }
}

/** The text beside the lock's name. */
function why(
  { name, reason, lockedAt, age = 0, lastRun }: OverdueLock,
  limits: Limits,
  runningAtMost = '',
): string {
  if (reason === 'running') return `has been running for ${formatDuration(age)}, longer than ${runningAtMost}`
  if (reason === 'not-succeeded' && lastRun?.error === LOST)
    return 'its last run was longer than its lease may last, so another may have run beside it'
  if (reason === 'not-succeeded')
    return lastRun && lastRun.outcome !== 'unlocked'
      ? `its last run ${lastRun.outcome}${lastRun.error === undefined ? '' : `: ${printable(lastRun.error)}`}`
      : 'its last run is not known to have succeeded'
  const limit = `but should be acquired every ${limits[name] ?? ''}`
  if (!lockedAt) return `is overdue: it was never acquired in this table, ${limit}`
  const last = `it was last acquired at ${lockedAt.toISOString()}`
  return age < 0
    ? `may be overdue: ${last}, ${formatDuration(-age)} ahead of the clock of the database: ${ANOTHER_CLOCK}`
    : `is overdue: ${last}, ${formatDuration(age)} ago, ${limit}`
}
