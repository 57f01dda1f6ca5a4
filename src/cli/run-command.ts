import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { warn } from './output'

/** What a terminal or a container runtime sends; the command decides what it means. */
const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
/** How long a command that lost its lock may take to stop after SIGTERM. */
const KILL_AFTER = 10_000
/** As shells have it. */
const NOT_FOUND = 127
const NOT_EXECUTABLE = 126
const BY_SIGNAL = 128

/**
 * Runs a command with this process's own input and output, and stops it when the signal aborts.
 *
 * @returns its exit code, as a shell would give it
 */
export function runCommand(command: string, args: readonly string[], stop: AbortSignal): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit' })
  const forward = (signal: NodeJS.Signals): void => {
    child.kill(signal)
  }
  const kill = (): void => {
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), KILL_AFTER).unref()
  }
  for (const signal of FORWARDED) process.on(signal, forward)
  stop.addEventListener('abort', kill)
  return new Promise<number>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid !== undefined) return
      warn(`shedlock: ${command} cannot be run: ${error.message}`)
      resolve(error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE)
    })
    child.on('exit', (code, signal) => {
      resolve(signal === null ? (code ?? 0) : BY_SIGNAL + constants.signals[signal])
    })
  }).finally(() => {
    for (const signal of FORWARDED) process.off(signal, forward)
    stop.removeEventListener('abort', kill)
  })
}
