import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterFile } from './after-test'

/** An empty folder, which goes when the test file is done. @param prefix of its path */
export function temporaryFolder(prefix = join(tmpdir(), 'shedlock-')): string {
  const folder = realpathSync(mkdtempSync(prefix))
  afterFile(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
