import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installed, npm } from '../packed-package'

/**
 * A project of a user with these packages, resolved by npm as it does for everybody: a peer that does not fit is an error.
 * Nothing is built: what is native is linked from our own node_modules afterwards.
 */
export function newProject(project: string, packages: readonly string[], linked: readonly string[]): void {
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "commonjs" }')
  npm(project, 'install', '--prefer-offline', '--ignore-scripts', ...packages)
  for (const name of linked) {
    const link = join(project, 'node_modules', name)
    rmSync(link, { recursive: true, force: true })
    symlinkSync(installed(name), link, 'junction')
  }
}
