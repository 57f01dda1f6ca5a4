import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../project'

export { root }
export { node } from '../../run-node'
export { temporaryFolder } from '../../temporary-folder'

export const installed = (path: string): string => join(root, 'node_modules', path)

interface Manifest {
  readonly name: string
  readonly version: string
  readonly files: readonly string[]
  readonly exports: Readonly<Record<string, string | Record<'import' | 'require', { default: string }>>>
  readonly bin: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { optional?: boolean }>>
}

export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
export const entries = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => manifest.name + path.slice(1))

/** Entries that are nothing without their framework: there is nothing to load where it is not installed. */
export const FRAMEWORKS: Readonly<Record<string, string>> = {
  'shedlock-orm/nestjs': '@nestjs',
  'shedlock-orm/opentelemetry': '@opentelemetry/api',
}

export function npm(cwd: string, ...args: string[]): void {
  execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
    ...{ cwd, stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' },
  })
}

/** Packed once for all test files, by `global-setup.ts`. */
export const tarball = process.env['PACKED'] ?? ''

/** An app that has the packed package, and nothing beside it: that npm installs it so is in tarball.test.ts. */
export function installInto(app: string): void {
  const folder = join(app, 'node_modules', manifest.name)
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['xzf', tarball, '-C', folder, '--strip-components', '1'])
  writeFileSync(join(app, 'package.json'), '{ "private": true }')
}
