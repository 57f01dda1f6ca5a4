import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { warn } from './output'

/** How long a command that lost its lock may take to stop after SIGTERM. */
const KILL_AFTER = 10_000
/** How long the release of the lock may take after a signal. Less than a container runtime waits. */
const END_AFTER = 3_000
/** The same as in shells. */
const NOT_FOUND = 127
const NOT_EXECUTABLE = 126

/**
 * Runs a command with this process's own input and output, passes signals on to it, and stops it when `stop` aborts. Does not start
 * the command if a signal has arrived or `stop` has aborted.
 *
 * @param abortAfter for how many milliseconds the command may go on before SIGTERM is passed on
 * @returns its exit status, as a shell would return it
 */
export async function runCommand(
  command: string,
  args: readonly string[],
  stop: AbortSignal,
  signals: Signals,
  abortAfter: number,
): Promise<number> {
  if (signals.received) return statusOf(signals.received)
  if (stop.aborted) return statusOf('SIGTERM')
  const child = spawn(command, args, { stdio: 'inherit' })
  const kill = (): void => {
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), KILL_AFTER).unref()
  }
  signals.command = child
  signals.tell((signal) => {
    setTimeout(() => child.kill(signal), signal === 'SIGTERM' ? abortAfter : 0).unref()
  })
  stop.addEventListener('abort', kill)
  const status = await new Promise<number>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid !== undefined) return
      warn(
        `${command} cannot be run: ${error.message} – check its path, and whether this user may execute it.`,
      )
      resolve(error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE)
    })
    child.on('exit', (code, signal) => {
      resolve(signal === null ? (code ?? 0) : statusOf(signal))
    })
  })
  stop.removeEventListener('abort', kill)
  return status
}

/** Signals that a terminal or a container runtime sends. They are passed on to the command, which decides what to do. */
const CAUGHT = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
/** Signals that mean something to the command only, such as to reopen its log. Nothing ends because of them. */
const PASSED_ON = ['SIGUSR1', 'SIGUSR2'] as const
const BY_SIGNAL = 128

/** Ends the process soon if it does not end by itself. If the database does not answer, the lock then expires. */
export function endSoon(status: number): void {
  setTimeout(() => process.exit(status), END_AFTER).unref()
}

/** The exit status that a shell returns for a signal. */
export function statusOf(signal: NodeJS.Signals): number {
  return BY_SIGNAL + constants.signals[signal]
}

/**
 * Catches signals from the start to the end of the process. Without a handler, SIGTERM does not end a container's first process, and
 * ends any other process before it has released its lock.
 */
export class Signals {
  /** The first signal received. */
  received: NodeJS.Signals | undefined
  /** The command, once it runs. */
  command: ChildProcess | undefined
  #handle: (signal: NodeJS.Signals) => void = () => undefined

  constructor() {
    for (const caught of CAUGHT) {
      process.on(caught, (signal) => {
        this.received ??= signal
        this.#handle(signal)
      })
    }
    for (const passed of PASSED_ON) process.on(passed, (signal) => this.command?.kill(signal))
  }

  /** Replaces the handler of signals. */
  tell(handle: (signal: NodeJS.Signals) => void): void {
    this.#handle = handle
  }
}
