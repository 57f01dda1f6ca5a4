import { LockError, type LockOptions, type LockConfiguration } from '../core'
import { executeOnce, type SqlLockProvider } from '../sql'
import { holding } from './describe-lock'
import { ExitCode } from './exit-code'
import { lookForLock } from './find-lock'
import { COMMAND, oneLine, warn } from './output'
import { runCommand } from './run-command'
import { statusOf, type Signals } from './signals'

export interface RunFlags {
  readonly lockAtMostFor?: string
  readonly lockAtLeastFor?: string
  readonly keepAlive?: boolean
  readonly wait?: string
  readonly slot?: Date
  readonly skippedExitCode: number
}

/** A command that failed: it was not done, and whoever waits does it. */
class CommandFailed extends Error {
  override readonly name = 'CommandFailed'

  constructor(readonly status: number) {
    super(`status ${status}`)
  }
}

/** @returns the exit status */
export async function runLocked(
  provider: SqlLockProvider,
  name: string,
  [command, ...args]: [string, ...string[]],
  { wait, slot, skippedExitCode, ...flags }: RunFlags,
  signals: Signals,
): Promise<number> {
  const { lockAtMostFor, lockAtLeastFor, keepAlive = lockAtMostFor === undefined } = flags
  // From now on there may be a lock to free.
  const stop = new AbortController()
  signals.tell(() => {
    stop.abort()
  })
  try {
    const { executed } = await executeOnce(
      wait === undefined ? provider : tellingOfWait(provider, name, wait),
      {
        ...{ name, lockAtMostFor, lockAtLeastFor, keepAlive, slot, signal: stop.signal, wait: wait ?? 0 },
        listeners: [{ onUnlockFailed, onLockLost }],
      },
      async ({ signal }) => {
        const status = await runCommand(command, args, signal, signals)
        if (signal.aborted) throw new CommandFailed(ExitCode.lockLost)
        if (status !== 0) throw new CommandFailed(status)
      },
    )
    if (!executed)
      warn(`${COMMAND}: '${name}' was done for this slot, or for a later one – ${command} was skipped.`)
    return ExitCode.ok
  } catch (error) {
    if (error instanceof CommandFailed) return error.status
    if (signals.received) return statusOf(signals.received)
    if (!(error instanceof LockError) || error.code !== 'NOT_ACQUIRED') throw error
    warn(`${COMMAND}: ${await whoHolds(provider, name)} – ${command} was skipped.`)
    return skippedExitCode
  }
}

/** Says once what it waits for. */
function tellingOfWait(
  provider: SqlLockProvider,
  name: string,
  wait: string,
): Pick<SqlLockProvider, 'lock' | 'listLocks'> {
  let told = false
  return {
    listLocks: () => provider.listLocks(),
    lock: async (configuration: LockConfiguration, options?: LockOptions) => {
      const lock = await provider.lock(configuration, options)
      if (lock || told || configuration.name !== name) return lock
      told = true
      warn(`${COMMAND}: ${await whoHolds(provider, name)} – waiting for ${wait} at most.`)
      return lock
    },
  }
}

/** One more question, for who was refused. */
async function whoHolds(provider: SqlLockProvider, name: string): Promise<string> {
  const record = await lookForLock(provider, name).catch(() => undefined)
  return record?.held ? holding(record) : `Lock '${name}' was held a moment ago`
}

function onLockLost({ error }: { error: Error }): void {
  warn(`${COMMAND}: ${oneLine(error)} The command is stopped.`)
}

function onUnlockFailed({ error }: { error: unknown }): void {
  warn(`${COMMAND}: The lock could not be released; it expires by itself: ${oneLine(error)}`)
}
