import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterFile } from './after-test'

/** Creates an empty folder, and deletes it after the tests of the file. @param prefix of its path */
export function temporaryFolder(prefix = join(tmpdir(), 'shedlock-')): string {
  const folder = realpathSync(mkdtempSync(prefix))
  afterFile(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
