import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { warn } from './output'

/** How long a command that lost its lock may take to stop after SIGTERM. */
const KILL_AFTER = 10_000
/** How long the release of the lock may take after a signal: less than a container runtime waits. */
const END_AFTER = 3_000
/** As shells have it. */
const NOT_FOUND = 127
const NOT_EXECUTABLE = 126

/**
 * Runs a command with this process's own input and output, passes signals on to it, and stops it when `stop` aborts. A
 * command that is to stop before it began is not begun.
 *
 * @returns its exit status, as a shell would return it
 */
export async function runCommand(
  command: string,
  args: readonly string[],
  stop: AbortSignal,
  signals: Signals,
): Promise<number> {
  if (signals.received) return statusOf(signals.received)
  if (stop.aborted) return statusOf('SIGTERM')
  const child = spawn(command, args, { stdio: 'inherit' })
  const kill = (): void => {
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), KILL_AFTER).unref()
  }
  signals.tell((signal) => child.kill(signal))
  stop.addEventListener('abort', kill)
  const status = await new Promise<number>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid !== undefined) return
      warn(`${command} cannot be run: ${error.message}`)
      resolve(error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE)
    })
    child.on('exit', (code, signal) => {
      resolve(signal === null ? (code ?? 0) : statusOf(signal))
    })
  })
  stop.removeEventListener('abort', kill)
  // A signal that comes now finds the lock being released.
  signals.tell(endSoon)
  return status
}

/** What a terminal or a container runtime sends; the command decides what it means. */
const CAUGHT = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
const BY_SIGNAL = 128

/** Ends the process if it has not ended by itself: the database may not answer, and the lock then expires. */
export function endSoon(signal: NodeJS.Signals): void {
  setTimeout(() => process.exit(statusOf(signal)), END_AFTER).unref()
}

/** The exit status that a shell returns for a signal. */
export function statusOf(signal: NodeJS.Signals): number {
  return BY_SIGNAL + constants.signals[signal]
}

/**
 * Catches signals from the start to the end of the process: the first process of a container that does not is never ended
 * by SIGTERM, and one that leaves it to the default in between does not unlock.
 */
export class Signals {
  /** The first one that came. */
  received: NodeJS.Signals | undefined
  #handle: (signal: NodeJS.Signals) => void = () => undefined

  constructor() {
    for (const caught of CAUGHT) {
      process.on(caught, (signal) => {
        this.received ??= signal
        this.#handle(signal)
      })
    }
  }

  /** From now on this is told each one, instead of whoever was told before. */
  tell(handle: (signal: NodeJS.Signals) => void): void {
    this.#handle = handle
  }
}
