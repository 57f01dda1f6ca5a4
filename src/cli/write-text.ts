import { appendFileSync, mkdirSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { wrongUsage } from './command-error'

/**
 * Writes a file that does not exist yet, or text at the end of one that does. Writes all of it or nothing, so that a run that was
 * interrupted can be repeated.
 *
 * @throws CommandError
 */
export function writeText(file: string, text: string, appends = false): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  try {
    if (size > 0 && !appends) throw new Error('it exists already')
    mkdirSync(dirname(file), { recursive: true })
    if (appends) appendFileSync(file, text)
    else {
      writeFileSync(`${file}.new`, text)
      renameSync(`${file}.new`, file)
    }
  } catch (error) {
    if (appends && statSync(file).size > size) truncateSync(file, size)
    throw wrongUsage(`${file} cannot be written: ${(error as Error).message}`)
  }
}
