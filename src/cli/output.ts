import { printable } from '../sql/internal'
import { CommandError, scrub } from './command-error'
import { terminalWidth, wrap } from './layout'

/** The same as the package's, so that `npx` finds no other package under it. */
export const COMMAND = 'shedlock-orm'

export function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

export function printJson(value: unknown, indent = 2): void {
  const lines = JSON.stringify(value, undefined, indent).split('\n')
  print(lines.map(printable).join('\n'))
}

/** One line on standard error; on a terminal it is broken between words. */
export function warn(text: string): void {
  const lines = wrap(`${COMMAND}: ${printable(text)}`, terminalWidth(process.stderr))
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** A driver's message may have several lines, and a part of a URL; an error of the command line has one line, and no password. */
export function oneLine(error: unknown): string {
  const { message, errors } = error as { message?: unknown; errors?: unknown[] }
  // Node's AggregateError, when a host has several addresses, has no message of its own.
  const text =
    typeof message === 'string' && message !== ''
      ? message
      : String((errors?.[0] as Error | undefined)?.message ?? error)
  const line = text.replace(/\s*\n\s*/g, ' ')
  return printable(error instanceof CommandError ? line : scrub(line))
}
