import { spawn } from 'node:child_process'
import { warn, COMMAND } from './output'
import { statusOf, type Signals } from './signals'

/** How long a command that lost its lock may take to stop after SIGTERM. */
const KILL_AFTER = 10_000
/** As shells have it. */
const NOT_FOUND = 127
const NOT_EXECUTABLE = 126

/**
 * Runs a command with this process's own input and output, passes signals on to it, and stops it when `stop` aborts. A
 * command that is to stop before it began is not begun.
 *
 * @returns its exit status, as a shell would give it
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
      warn(`${COMMAND}: ${command} cannot be run: ${error.message}`)
      resolve(error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE)
    })
    child.on('exit', (code, signal) => {
      resolve(signal === null ? (code ?? 0) : statusOf(signal))
    })
  })
  stop.removeEventListener('abort', kill)
  // What comes now finds the lock being freed.
  signals.tell(() => undefined)
  return status
}
