import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const CACHE = join(__dirname, '../../node_modules/.cache/shedlock-orm')

/** Where a package is, or will be: a folder of its own. */
export function folderOf(name: string, version: string): string {
  return join(CACHE, `${name.replace(/\W+/g, '-')}-${version}`, 'node_modules', name)
}

/**
 * Installs a package that is too large for everybody's node_modules into a cache, when a run asks for it.
 *
 * @param options.scripts the packages whose scripts may run
 * @param options.together the packages that are installed beside it
 * @param options.overrides versions in place of those that its dependencies want
 * @returns its folder
 */
export async function installPackage(
  name: string,
  version: string,
  options: {
    scripts?: readonly string[]
    together?: Readonly<Record<string, string>>
    overrides?: Readonly<Record<string, string>>
  } = {},
): Promise<string> {
  const folder = folderOf(name, version)
  if (existsSync(folder)) return folder
  const project = {
    private: true,
    dependencies: { [name]: version, ...options.together },
    overrides: options.overrides ?? {},
    allowScripts: Object.fromEntries((options.scripts ?? []).map((each) => [each, true])),
  }
  const cwd = join(folder, ...name.split('/').map(() => '..'), '..')
  await mkdir(cwd, { recursive: true })
  await writeFile(join(cwd, 'package.json'), JSON.stringify(project))
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--legacy-peer-deps'], { cwd })
  return folder
}
