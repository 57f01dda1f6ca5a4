import { InvalidArgumentError, type Command } from 'commander'
import { checkLockConfiguration, LockingTaskExecutor } from '../core'
import { addConnectionOptions, withConnection, type ConnectionFlags } from './connect'
import { ExitCode } from './exit-code'
import { oneLine, warn } from './output'
import { runCommand } from './run-command'

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
      "Runs a command if the lock can be had, and frees the lock when it ends. The exit status is the command's own. It is 75 when the lock is held by somebody else and the command was skipped, and 76 when the lock was lost while it ran: it is then stopped with SIGTERM, and after 10 seconds with SIGKILL. SIGINT, SIGTERM, SIGHUP and SIGQUIT go to the command.",
    )
    .requiredOption('--lock-at-most-for <duration>', 'longer than the command can take: 10m, 90s, PT1H')
    .option('--lock-at-least-for <duration>', 'how long the lock stays taken, however short the command is')
    .option('--keep-alive', 'extend the lock while the command runs; --lock-at-most-for may then be short')
    .option('--skipped-exit-code <code>', 'the exit status when it is skipped', exitCode, ExitCode.skipped)
  addConnectionOptions(exec).action(
    (name: string, [command, ...args]: [string, ...string[]], flags: ExecFlags) => {
      const { lockAtMostFor, lockAtLeastFor, keepAlive, skippedExitCode } = flags
      // Before it connects.
      checkLockConfiguration({ name, lockAtMostFor, lockAtLeastFor })
      return withConnection(flags, async ({ provider }) => {
        const executor = new LockingTaskExecutor(provider, { listeners: [{ onUnlockFailed, onLockLost }] })
        const configuration = { name, lockAtMostFor, lockAtLeastFor, keepAlive }
        const result = await executor.executeWithLock(configuration, async ({ signal }) => {
          const code = await runCommand(command, args, signal)
          return signal.aborted ? ExitCode.lockLost : code
        })
        if (!result.executed)
          warn(`shedlock: Lock '${name}' is held by somebody else – ${command} was skipped.`)
        process.exitCode = result.executed ? result.value : skippedExitCode
      })
    },
  )
}

function onLockLost({ error }: { error: Error }): void {
  warn(`shedlock: ${oneLine(error)} The command is stopped.`)
}

function onUnlockFailed({ error }: { error: unknown }): void {
  warn(`shedlock: The lock could not be freed, and ends by itself: ${oneLine(error)}`)
}

function exitCode(text: string): number {
  const code = Number(text)
  if (text === '' || !Number.isInteger(code) || code < 0 || code > 255)
    throw new InvalidArgumentError('It is a number from 0 to 255.')
  return code
}
