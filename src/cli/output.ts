import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { CommandError, ExitCode } from './exit-code'
import { scrub } from './secrets'

/** As the package: a name that `npx` takes from nobody else. */
export const COMMAND = 'shedlock-orm'

export function print(text: string): void {
  process.stdout.write(scrub(text.endsWith('\n') ? text : `${text}\n`))
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, undefined, 2))
}

export function warn(text: string): void {
  process.stderr.write(`${scrub(text)}\n`)
}

/** Prints the text, or writes it to a file that is not there yet. */
export function printOrWrite(text: string, { out, force }: { out?: string; force?: boolean }): void {
  if (out === undefined) {
    print(text)
    return
  }
  if (existsSync(out) && !force)
    throw new CommandError(ExitCode.usage, `${out} exists already – give another name, or --force.`)
  try {
    mkdirSync(dirname(out), { recursive: true })
    writeFileSync(out, text)
  } catch (error) {
    throw new CommandError(ExitCode.usage, `${out} cannot be written: ${(error as Error).message}`)
  }
  warn(`wrote ${out}`)
}

/** Columns as wide as their longest cell. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** A driver's message may have several lines; an error of the command line has one. */
export function oneLine(error: unknown): string {
  const { message, errors } = error as { message?: unknown; errors?: unknown[] }
  // Node's AggregateError, when a host has several addresses, has no message of its own.
  const text =
    typeof message === 'string' && message !== ''
      ? message
      : String((errors?.[0] as Error | undefined)?.message ?? error)
  return text.replace(/\s*\n\s*/g, ' ')
}
