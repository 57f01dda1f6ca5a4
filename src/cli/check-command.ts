import { InvalidArgumentError, type Command } from 'commander'
import { checkDuration, checkLockName } from '../core'
import type { OverdueLock } from '../sql'
import { addConnectionOptions, withConnection, type ConnectionFlags } from './connect'
import { duration, printable } from './describe-lock'
import { ExitCode } from './exit-code'
import { addOptions, durationWithUnit } from './options'
import { print, printJson } from './output'

type Limits = Readonly<Record<string, string>>

export function addCheckCommand(program: Command): void {
  const check = program
    .command('check')
    .argument('<limits...>', 'name=duration: how long ago each lock was to be taken at the latest', addLimit)
    .usage('<name>=<duration>... [options]')
    .summary('find jobs that did not run in time')
    .description(
      'Looks when each lock was last taken, by the clock of the database, and prints a line for each that was taken longer ago, or never: for probes and monitoring. A lock that is paused is not overdue. Exit status 1 if one is overdue.',
    )
  addOptions(check, 'json')
  addConnectionOptions(check).action((limits: Limits, flags: ConnectionFlags & { json?: boolean }) =>
    withConnection(flags, async ({ provider }) => {
      const overdue = await provider.overdueLocks(limits)
      if (flags.json) printJson(overdue)
      else
        print(
          overdue.length > 0 ? overdue.map((lock) => line(lock, limits)).join('\n') : 'No lock is overdue.',
        )
      if (overdue.length > 0) process.exitCode = ExitCode.no
    }),
  )
}

/** A name may have an equals sign, a duration has none. */
function addLimit(text: string, limits: Limits = {}): Limits {
  const [, name = '', limit = ''] = /^(.*)=(.*)$/s.exec(text) ?? []
  if (name === '') throw new InvalidArgumentError('It is name=duration, such as report=25h.')
  // Before it connects.
  checkDuration(checkLockName(name), 'the limit', durationWithUnit(limit))
  return { ...limits, [name]: limit }
}

function line({ name, lockedAt, age = 0 }: OverdueLock, limits: Limits): string {
  const last = lockedAt ? `last taken at ${lockedAt.toISOString()}, ${duration(age)} ago` : 'never taken'
  return `${printable(name)} is overdue: ${last}, and should be every ${limits[name] ?? ''}.`
}
