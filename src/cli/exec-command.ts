import type { Command } from 'commander'
import {
  aDuration,
  executeOnce,
  HELD_BY_EXEC,
  isUnanswered,
  Lease,
  LockError,
  parseLockConfiguration,
  unreleasedError,
  untilAnswered,
} from '../core/internal'
import type { SqlLockProvider } from '../sql/internal'
import { ExitCode, wrongUsage } from './command-error'
import { announce, withConnection } from './connect'
import { stateOf } from './describe-lock'
import { addOptions, CONNECTION_OPTIONS, type ConnectionOption, type Flags } from './options'
import { COMMAND, oneLine, warn } from './output'
import { endSoon, runCommand, Signals, statusOf } from './run-command'

const OPTIONS = [
  ...(['lockAtMostFor', 'lockAtLeastFor', 'keepAlive', 'keepAliveAtMost'] as const),
  ...(['skippedExitCode', 'wait', 'slot', 'abortAfter', 'createTable', 'quiet'] as const),
]
const EXAMPLE = `${COMMAND} exec report --lock-at-most-for 10m -- ./report.sh --all`
type ExecFlags = Flags<(typeof OPTIONS)[number] | ConnectionOption>

export function addExecCommand(program: Command): void {
  const exec = program
    .command('exec')
    .argument('<name>', 'the name of the lock')
    .argument('<command...>', 'what to run, after --')
    .usage('<name> [options] -- <command...>')
    .showHelpAfterError(`(The command comes after --: ${EXAMPLE})`)
    .summary('run a command under a lock, or skip it, or wait for the lock')
    .description(
      "Runs a command if the lock can be acquired, and releases the lock when the command has ended. The exit status is the command's own, with three exceptions. It is 75 when somebody else held the lock, so the command was skipped. It is 76 when the lock was lost while the command ran: the command is then stopped with SIGTERM, and after 10 seconds with SIGKILL. With --slot it is 0 when the command has already succeeded for this slot, or a later run has begun. The command has ended when all processes that it started have. SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to all of them, SIGUSR1 and SIGUSR2 to the command alone; with --abort-after, SIGTERM only after this time. On a terminal only the command itself counts. Durations need a unit. Set --lock-at-most-for or --wait.",
    )
  addOptions(exec, ...OPTIONS, ...CONNECTION_OPTIONS).action(
    (name: string, command: [string, ...string[]], flags: ExecFlags) => {
      const { wait, lockAtMostFor, lockAtLeastFor } = flags
      if (wait === undefined && lockAtMostFor === undefined)
        throw wrongUsage(`Set --lock-at-most-for <duration>, or --wait <duration>, such as: ${EXAMPLE}`)
      if (command[0] === '') throw wrongUsage('The command is empty.')
      // Validate the configuration before connecting.
      parseLockConfiguration({ name, lockAtMostFor: lockAtMostFor ?? '1m', lockAtLeastFor })
      const signals = new Signals()
      signals.tell((signal) => process.exit(statusOf(signal)))
      const waited = wait === undefined ? undefined : new Lease(aDuration(wait, 'wait'))
      let isConnected = false
      const run = () =>
        withConnection(flags, async (connection) => {
          await announce(connection, flags.quiet)
          if (flags.createTable) await connection.provider.table.create()
          isConnected = true
          process.exitCode = await runLocked(connection.provider, name, command, flags, waited, signals)
        })
      let isReported = flags.quiet
      return untilAnswered(run, { atMost: waited?.remaining() ?? 0 }, (error) => {
        if (isConnected || !isUnanswered(error)) return false
        if (!isReported) warn(waiting(error, wait))
        return (isReported = true)
      })
    },
  )
}

/** Thrown if the command failed, so that `executeOnce` does not record the work as done and a waiting process may do it. */
class CommandFailed extends Error {
  override readonly name = 'CommandFailed'

  /** What the row records. */
  readonly code: string

  constructor(readonly status: number) {
    super(`status ${status}`)
    this.code = `exit-status-${status}`
  }
}

/** @returns the exit status */
async function runLocked(
  provider: SqlLockProvider,
  name: string,
  command: [string, ...string[]],
  { wait, slot, abortAfter = '0s', skippedExitCode, quiet = false, ...flags }: ExecFlags,
  waited: Lease | undefined,
  signals: Signals,
): Promise<number> {
  const [program] = command
  const { lockAtMostFor, lockAtLeastFor, keepAliveAtMost: atMost } = flags
  const keepAlive = atMost === undefined ? (flags.keepAlive ?? lockAtMostFor === undefined) : { atMost }
  // From here on there may be a lock to release, so a signal must not end the process at once.
  const stop = new AbortController()
  signals.tell((signal) => {
    stop.abort()
    endSoon(statusOf(signal))
  })
  const say = (text: string): void => {
    if (!quiet) warn(text)
  }
  const execute = (wait: number) =>
    executeOnce(
      provider,
      {
        ...{ name, lockAtMostFor, lockAtLeastFor, keepAlive, slot, signal: stop.signal, wait },
        listeners: [{ onExtendFailed, onLockLost, onUnlockFailed }],
      },
      async ({ signal }) => {
        process.env[HELD_BY_EXEC] = name
        const ended = await runCommand(command, signal, signals, aDuration(abortAfter, 'abortAfter'), () => {
          if (signal.aborted) return
          say(
            `${program} has ended, but not all processes that it started: the lock stays held until they end.`,
          )
        })
        const status = signal.aborted ? ExitCode.lockLost : ended
        // The lock is released next, so a signal now limits how long that may take.
        signals.tell(() => {
          endSoon(status)
        })
        if (status !== 0) throw new CommandFailed(status)
      },
    )
  const waitFor = async (duration: Lease) => {
    try {
      return await execute(0)
    } catch (error) {
      if (signals.received || !(isRefused(error) || isUnanswered(error))) throw error
      say(waiting(isRefused(error) ? await whoHolds(provider, name) : error, wait))
      return execute(duration.remaining())
    }
  }
  try {
    const { executed } = await (waited === undefined ? execute(0) : waitFor(waited))
    if (!executed)
      say(`Lock '${name}' was already acquired for this slot or a later one – ${program} was skipped.`)
    return ExitCode.ok
  } catch (error) {
    if (error instanceof CommandFailed) return error.status
    if (signals.received) return statusOf(signals.received)
    if (!isRefused(error)) throw error
    say(`${await whoHolds(provider, name)} – ${program} was skipped.`)
    return skippedExitCode
  }
}

function waiting(why: unknown, wait: string | undefined): string {
  return `${oneLine(why).replace(/\.$/, '')} – waiting for ${wait} at most.`
}

function isRefused(error: unknown): boolean {
  return error instanceof LockError && error.code === 'SKIPPED'
}

/** Queries who holds the lock, for the message about a refusal. */
async function whoHolds(provider: SqlLockProvider, name: string): Promise<string> {
  const record = await provider.table.find(name).catch(() => undefined)
  return record?.held ? stateOf(record) : `Lock '${name}' was held a moment ago`
}

function onExtendFailed({ name, error }: { name: string; error: unknown }): void {
  warn(`Lock '${name}' could not be extended; it expires when it would have before: ${oneLine(error)}`)
}

function onLockLost({ error }: { error: Error }): void {
  warn(`${oneLine(error)} The command is being stopped.`)
}

function onUnlockFailed({ name, error }: { name: string; error: unknown }): void {
  warn(oneLine(unreleasedError(name, error)))
}
