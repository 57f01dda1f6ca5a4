import { hostname, userInfo } from 'node:os'
import type { Command } from 'commander'
import type { PauseOptions } from '../sql'
import { addConnectionOptions, withConnection, type ConnectionFlags } from './connect'
import { details, holding } from './describe-lock'
import { CommandError, ExitCode } from './exit-code'
import { findLock } from './find-lock'
import { addOptions } from './options'
import { print } from './output'

export function addPauseCommands(program: Command): void {
  const pause = program
    .command('pause')
    .argument('<name>', 'the name of the lock')
    .summary('keep a job from running, on every instance, until a time or until resume')
    .description(
      'Takes the lock without a run, so that every instance skips the job, those of Java services too. It ends by resume, or after --for. A run in progress goes on: without --wait nothing is paused then. Exit status 1 if it was not paused.',
    )
  addOptions(pause, 'for', 'reason', 'by', 'wait')
  addConnectionOptions(pause).action((name: string, flags: ConnectionFlags & PauseOptions) =>
    withConnection(flags, async ({ provider }) => {
      const { by = whoAmI(), reason, wait } = flags
      const paused = await provider.pauseLock(name, { for: flags.for, reason, by, wait })
      const lock = await findLock(provider, name)
      if (paused) print(details(lock))
      else throw new CommandError(ExitCode.no, `${holding(lock)} – it was not paused.${advice(lock.paused)}`)
    }),
  )

  const resume = program
    .command('resume')
    .argument('<name>', 'the name of the lock')
    .summary('end the pause of a job')
    .description('Ends the pause of a job, whoever paused it. Exit status 1 if it is not paused.')
  addConnectionOptions(resume).action((name: string, flags: ConnectionFlags) =>
    withConnection(flags, async ({ provider }) => {
      const lock = await findLock(provider, name)
      if (!(await provider.resumeLock(name)))
        throw new CommandError(ExitCode.no, `${holding(lock)} – it is not paused.`)
      print(details(await findLock(provider, name)))
    }),
  )
}

function advice(paused: boolean): string {
  return paused ? ' To pause it for longer, resume it first.' : ' With --wait 5m it is paused after that run.'
}

function whoAmI(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    // A container may run under a user without a name.
    return hostname()
  }
}
