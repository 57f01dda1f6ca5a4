import { inspect } from 'node:util'
import { LockError, printable } from '../core/internal'
import type { LockTableOptions } from '../sql/internal'
import { CommandError, scrub } from './command-error'
import { terminalWidth, wrap } from './layout'
import { flagOf } from './options'

/** The same as the package's name, so that `npx` cannot run a different package. */
export const COMMAND = 'shedlock-orm'

/** Quotes a word, if a shell would read it as anything else. */
export function quoted(word: string): string {
  return /^[\w.:/@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** The flags for the table and its columns, to be added to a command. */
export function nameFlags({ columnNames = {}, ...others }: LockTableOptions): string {
  const columns = Object.entries(columnNames).map((pair) => ['columnNames', pair.join('=')])
  const values = [...Object.entries(others), ...columns]
  return values.map(([option, value = '']) => ` ${flagOf(option)} ${quoted(value)}`).join('')
}

/** A command for a lock, to be typed in a shell. */
export function commandOn(command: string, lockName: string): string {
  return `${COMMAND} ${command} ${quoted(lockName)}`
}

export function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

export function printJson(value: unknown): void {
  const lines = JSON.stringify(value, undefined, 2).split('\n')
  print(lines.map(printable).join('\n'))
}

/** Prints one line on standard error, wrapped between words on a terminal. */
export function warn(text: string): void {
  process.stderr.write(`${wrap(`${COMMAND}: ${printable(text)}`, terminalWidth(process.stderr))}\n`)
}

/** Names in an error's advice what the command line has instead of the options and methods of code. */
function asFlags(text: string): string {
  return text.replace(
    /\b(set|correct|and) (schema|tableName)\b/g,
    (_, verb: string, option: string) => `${verb} ${flagOf(option) ?? option}`,
  )
}

/** Turns an error into one line without passwords: a driver's message may have several lines and contain a part of the URL. */
export function oneLine(error: unknown): string {
  const { message, errors } = (error ?? {}) as { message?: unknown; errors?: unknown[] }
  // If a host has several addresses, Node.js throws an AggregateError without a message of its own. ts-node's ES module loader throws
  // objects that are not errors, and have no toString().
  const text =
    typeof message === 'string' && message !== ''
      ? message
      : ((errors?.[0] as Error | undefined)?.message ?? (typeof error === 'string' ? error : inspect(error)))
  // A wrong configuration may be in the project's code.
  const isOfFlags = error instanceof LockError && error.code !== 'INVALID_CONFIGURATION'
  const line = (isOfFlags ? asFlags(text) : text).replace(/\s*\n\s*/g, ' ')
  return printable(error instanceof CommandError ? line : scrub(line))
}
