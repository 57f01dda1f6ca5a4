import type { Command } from 'commander'
import { checkLockConfiguration } from '../core'
import { addConnectionOptions, withConnection, type ConnectionFlags } from './connect'
import { CommandError, ExitCode } from './exit-code'
import { runLocked, type RunFlags } from './run-locked'
import { addOptions } from './options'
import { Signals, statusOf } from './signals'

interface ExecFlags extends ConnectionFlags, RunFlags {}

export function addExecCommand(program: Command): void {
  const exec = program
    .command('exec')
    .argument('<name>', 'the name of the lock')
    .argument('<command...>', 'what to run, after --')
    .usage('<name> [options] -- <command...>')
    .summary('run a command under a lock, or skip it, or wait for the lock')
    .description(
      "Runs a command if the lock can be acquired, and releases the lock when it ends. The exit status is the command's own. It is 75 when the lock is held by somebody else and the command was skipped, and 76 when the lock was lost while it ran: it is then stopped with SIGTERM, and after 10 seconds with SIGKILL. With --slot it is 0 when the command has succeeded elsewhere. SIGINT, SIGTERM, SIGHUP and SIGQUIT go to the command. Durations need a unit. Give --lock-at-most-for or --wait.",
    )
  addOptions(exec, 'lockAtMostFor', 'lockAtLeastFor', 'keepAlive', 'skippedExitCode')
  addOptions(exec, 'wait', 'slot', 'createTable')
  addConnectionOptions(exec).action((name: string, command: [string, ...string[]], flags: ExecFlags) => {
    const { wait, lockAtMostFor, lockAtLeastFor } = flags
    if (wait === undefined && lockAtMostFor === undefined)
      throw new CommandError(ExitCode.usage, 'Give --lock-at-most-for <duration>, or --wait <duration>.')
    // Before it connects.
    checkLockConfiguration({ name, lockAtMostFor: lockAtMostFor ?? '1m', lockAtLeastFor })
    const signals = new Signals()
    signals.tell((signal) => process.exit(statusOf(signal)))
    return withConnection(flags, async ({ provider }) => {
      if (flags.createTable) await provider.createTable()
      process.exitCode = await runLocked(provider, name, command, flags, signals)
    })
  })
}
