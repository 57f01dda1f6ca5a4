import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { warn } from './output'

/** How long a command that lost its lock may take to stop after SIGTERM. */
const KILL_AFTER = 10_000
/** How long the release of the lock may take after a signal. Less than a container runtime waits. */
const END_AFTER = 3_000
/** How often to check whether all processes of a command have ended, at least, and after which interval to say so. */
const LONGEST_INTERVAL = 500
const REPORT_AT = 160
/** The same as in shells. */
const NOT_FOUND = 127
const NOT_EXECUTABLE = 126
const BY_SIGNAL = 128

/** Signals that a terminal or a container runtime sends. They are passed on to the command, which decides what to do. */
const CAUGHT = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
/** Signals that mean something to the command only, such as to reopen its log. Nothing ends because of them. */
const PASSED_ON = ['SIGUSR1', 'SIGUSR2'] as const
/** Those of them that a terminal sends to the command itself. */
const KEYS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']

/** The exit status that a shell returns for a signal. */
export function statusOf(signal: NodeJS.Signals): number {
  return BY_SIGNAL + constants.signals[signal]
}

/** Ends the process soon if it does not end by itself. If the database does not answer, the lock then expires. */
export function endSoon(status: number): void {
  setTimeout(() => process.exit(status), END_AFTER).unref()
}

/**
 * Catches signals from the start to the end of the process. Without a handler, SIGTERM does not end a container's first process, and
 * ends any other process before it has released its lock.
 */
export class Signals {
  /** The first signal received. */
  received: NodeJS.Signals | undefined
  #handle: (signal: NodeJS.Signals) => void = () => undefined
  #command: ChildProcess | undefined

  constructor() {
    for (const caught of CAUGHT) {
      process.on(caught, (signal) => {
        this.received ??= signal
        this.#handle(signal)
      })
    }
    for (const passed of PASSED_ON) process.on(passed, (signal) => this.#command?.kill(signal))
  }

  /** Replaces the handler of signals. */
  tell(handle: (signal: NodeJS.Signals) => void, command?: ChildProcess): void {
    this.#handle = handle
    this.#command = command
  }
}

/**
 * Runs a command with this process's own input and output, passes signals on to it, and stops it when `stop` aborts. Does not start
 * the command if a signal has arrived or `stop` has aborted.
 *
 * Without a terminal, the command leads a process group, which the processes that it starts belong to: signals reach all of them, and
 * the command has ended when all of them have. On a terminal it stays in the terminal's own group: otherwise it could not ask for a
 * password.
 *
 * @param abortAfter for how many milliseconds the command may go on before SIGTERM is passed on
 * @param onOutlived called if the command has ended, but not all processes that it started
 * @returns its exit status, as a shell would return it
 */
export async function runCommand(
  [command, ...args]: readonly [string, ...string[]],
  stop: AbortSignal,
  signals: Signals,
  abortAfter: number,
  onOutlived: () => void,
): Promise<number> {
  if (signals.received) return statusOf(signals.received)
  if (stop.aborted) return statusOf('SIGTERM')
  const isTerminal = isatty(0)
  const detached = !isTerminal && process.platform !== 'win32'
  const child = spawn(command, args, { stdio: 'inherit', detached })
  let group = detached ? child.pid : undefined
  const send = (signal: NodeJS.Signals): void => {
    if (group === undefined) child.kill(signal)
    else kill(group, signal)
  }
  const end = (): void => {
    send('SIGTERM')
    setTimeout(send, KILL_AFTER, 'SIGKILL').unref()
  }
  signals.tell((signal) => {
    if (isTerminal && KEYS.includes(signal)) return
    setTimeout(send, signal === 'SIGTERM' ? abortAfter : 0, signal).unref()
  }, child)
  stop.addEventListener('abort', end)
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
  for (let interval = 10; group !== undefined && isRunning(group); interval *= 2) {
    if (interval === REPORT_AT) onOutlived()
    await sleep(Math.min(interval, LONGEST_INTERVAL))
  }
  // Its number may be given to another group.
  group = undefined
  return status
}

/** Sends a signal to a process group. @returns whether the group exists */
function kill(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch (error) {
    // EPERM: its processes have become those of another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/**
 * Whether a process of the group runs. A zombie belongs to its group until it is reaped, which never happens if this process is the
 * first one of a container.
 */
function isRunning(group: number): boolean {
  if (!kill(group, 0)) return false
  if (!existsSync('/proc/self/stat')) return true
  return readdirSync('/proc').some((pid) => {
    try {
      const [, state = '', its] =
        /.*\) (\w) \d+ (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
      return Number(its) === group && !'ZX'.includes(state)
    } catch {
      // It is not a process, or has ended.
      return false
    }
  })
}
