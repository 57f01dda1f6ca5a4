import { InvalidArgumentError, type Command } from 'commander'
import { aDuration, parseLockName } from '../core/internal'
import { jobView, summary } from '../sql/internal'
import { ExitCode } from './command-error'
import { onDatabase } from './connect'
import { existingLock, forJson, lines, show, withAdvice } from './describe-lock'
import { readDuration } from './options'
import { COMMAND, print, printJson } from './output'

const NONE =
  'There are no locks: the first run of a job creates its lock. If jobs have run already, check whether they use this table.'

// `list` may say that one of them needs you.
const NONE_IS_LATE =
  'None of these jobs is stuck or late. With --must-have-succeeded, check also finds those that died or failed.'

/** Below the list, which cannot know it. */
const LIMITS = `${COMMAND} check <name>=25h finds a job that no longer runs.`

export type Limits = Readonly<Record<string, string>>

/** Adds the commands that only read. */
export function addLockCommands(program: Command): void {
  const list = program
    .command('list')
    .argument('[name]', 'show only this lock, with all that is known of it')
    .summary('list the locks, or show one: who holds what, since when, until when')
    .description(
      'Lists the jobs by their locks, those that need a person first. A terminal also shows what to do next. With a name it shows that lock; exit status 1 if there is no such lock. Otherwise 0, even if a job is stuck: see check.',
    )
  onDatabase(list, ['held', 'json'], async ({ provider }, { held, json }, name?: string) => {
    if (name !== undefined) {
      show(await existingLock(provider, name), json)
      return
    }
    const locks = (await provider.table.list()).filter((lock) => lock.held || !held)
    const jobs = locks.map((lock) => jobView(lock.name, lock))
    if (json) printJson(jobs.map(forJson))
    else if (jobs.length === 0) print(held ? 'No lock is held.' : NONE)
    else print(process.stdout.isTTY ? withAdvice(jobs, `${summary(jobs)}.\n${LIMITS}`) : lines(jobs))
  })

  const check = program
    .command('check')
    .argument('<limits...>', 'name=duration: how long ago each lock may have been acquired last', addLimit)
    .usage('<name>=<duration>... [options]')
    .showHelpAfterError(`(Such as: ${COMMAND} check report=25h vacuum=7d)`)
    .summary('find jobs that did not run in time')
    .description(
      'Prints a line for each of these jobs that is stuck or late, for probes and monitoring. With --must-have-succeeded it also prints those that died or failed, and those whose last run is not known to have succeeded. A paused job is neither. Exit status 1 if it printed a line.',
    )
  const options = ['mustHaveSucceeded', 'runningAtMost', 'json'] as const
  onDatabase(check, options, async ({ provider }, flags, limits: Limits) => {
    const { mustHaveSucceeded, runningAtMost, json } = flags
    const jobs = await provider.table.overdue(limits, { mustHaveSucceeded, runningAtMost })
    if (json) printJson(jobs.map(forJson))
    else if (jobs.length > 0) print(withAdvice(jobs))
    else print(mustHaveSucceeded ? 'None of these jobs needs you.' : NONE_IS_LATE)
    if (jobs.length > 0) process.exitCode = ExitCode.no
  })
}

/** Splits at the last equals sign, because a name may contain one and a duration cannot. */
export function addLimit(text: string, limits: Limits = {}): Limits {
  const [, name = '', limit = ''] = /^(.*)=(.*)$/s.exec(text) ?? []
  if (name === '') throw new InvalidArgumentError('It must be name=duration, such as report=25h.')
  // Validate the limit before connecting.
  aDuration(readDuration(limit), 'the limit', parseLockName(name))
  return { ...limits, [name]: limit }
}
