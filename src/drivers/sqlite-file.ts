import { statSync } from 'node:fs'
import { DriverError } from '../sql/internal'
import type { DriverSession, RunStatement } from './sql-client'

/**
 * Opens a SQLite file beside the app's own connection, as a session that is over once another file takes the place of this one.
 *
 * @throws DriverError if there is no such file, because opening it would make an empty one
 */
export async function openSqliteFile(
  path: string,
  open: () => Promise<{
    readonly run: RunStatement
    readonly close: () => unknown
    /** Default: as long as the file is the same. */
    readonly isUsable?: () => boolean
  }>,
): Promise<DriverSession> {
  const file = fileAt(path)
  if (!file) throw new DriverError(undefined, `there is no file ${path}`, false)
  const { run, close, isUsable = () => true } = await open()
  const wake = () => Promise.resolve(isUsable() && fileAt(path) === file)
  return { run, release: close, end: close, wake }
}

/** Identifies the file at a path, if there is one. While it is open, no other file gets its number, even if it has been deleted. */
function fileAt(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
