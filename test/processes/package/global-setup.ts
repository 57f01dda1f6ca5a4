import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copySources } from '../../../scripts/copy-sources'

/** Builds and packs apart, as a release does, so that the tests judge these sources, whatever lies in dist. */
export default function globalSetup(): void {
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-packed-'))
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true })
  })
  const checkout = join(folder, 'checkout')
  copySources(checkout)
  execFileSync('npm', ['pack', '--offline', '--loglevel=error', '--pack-destination', folder], {
    ...{ cwd: checkout, stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' },
  })
  process.env['PACKED'] = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '')
}
