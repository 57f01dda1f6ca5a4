import type { Command } from 'commander'
import { checkLockConfiguration, LockingTaskExecutor } from '../core'
import { addConnectionOptions, withConnection, type ConnectionFlags } from './connect'
import { ExitCode } from './exit-code'
import { addOptions } from './options'
import { COMMAND, oneLine, warn } from './output'
import { runCommand } from './run-command'
import { Signals, statusOf } from './signals'

interface ExecFlags extends ConnectionFlags {
  readonly lockAtMostFor: string
  readonly lockAtLeastFor?: string
  readonly keepAlive?: boolean
  readonly skippedExitCode: number
}

export function addExecCommand(program: Command): void {
  const exec = program
    .command('exec')
    .argument('<name>', 'the name of the lock')
    .argument('<command...>', 'what to run, after --')
    .usage('<name> --lock-at-most-for <duration> [options] -- <command...>')
    .summary('run a command under a lock, or skip it')
    .description(
      "Runs a command if the lock can be acquired, and frees the lock when it ends. The exit status is the command's own. It is 75 when the lock is held by somebody else and the command was skipped, and 76 when the lock was lost while it ran: it is then stopped with SIGTERM, and after 10 seconds with SIGKILL. SIGINT, SIGTERM, SIGHUP and SIGQUIT go to the command. Durations need a unit.",
    )
  addOptions(exec, 'lockAtMostFor', 'lockAtLeastFor', 'keepAlive', 'skippedExitCode')
  addConnectionOptions(exec).action(
    (name: string, [command, ...args]: [string, ...string[]], flags: ExecFlags) => {
      const { lockAtMostFor, lockAtLeastFor, keepAlive, skippedExitCode } = flags
      // Before it connects.
      checkLockConfiguration({ name, lockAtMostFor, lockAtLeastFor })
      const signals = new Signals()
      signals.tell((signal) => process.exit(statusOf(signal)))
      return withConnection(flags, async ({ provider }) => {
        // From now on there may be a lock to free.
        signals.tell(() => undefined)
        const executor = new LockingTaskExecutor(provider, { listeners: [{ onUnlockFailed, onLockLost }] })
        const configuration = { name, lockAtMostFor, lockAtLeastFor, keepAlive }
        const result = await executor.executeWithLock(configuration, async ({ signal }) => {
          const code = await runCommand(command, args, signal, signals)
          return signal.aborted ? ExitCode.lockLost : code
        })
        if (!result.executed)
          warn(`${COMMAND}: Lock '${name}' is held by somebody else – ${command} was skipped.`)
        process.exitCode = result.executed ? result.value : skippedExitCode
      })
    },
  )
}

function onLockLost({ error }: { error: Error }): void {
  warn(`${COMMAND}: ${oneLine(error)} The command is stopped.`)
}

function onUnlockFailed({ error }: { error: unknown }): void {
  warn(`${COMMAND}: The lock could not be freed, and ends by itself: ${oneLine(error)}`)
}
