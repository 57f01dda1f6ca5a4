import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from '@jest/globals'

export const root = join(__dirname, '../../..')
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

/** An empty folder, which goes when the test file is done. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'shedlock-package-')))
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** What a checkout needs to be built and packed. */
const SOURCES = [
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts',
  'src',
  'README.md',
  'LICENSE',
]

/** Built and packed apart, as a release is, so that the tests judge these sources, whatever lies in dist. */
export function packInto(folder: string): string {
  const checkout = join(folder, 'checkout')
  const listed = manifest.files.filter((file) => file !== 'dist' && !file.startsWith('!'))
  for (const name of [...SOURCES, ...listed])
    cpSync(join(root, name), join(checkout, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'), 'junction')
  npm(checkout, 'pack', '--offline', '--pack-destination', folder)
  return join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '')
}

/** An app that has installed the packed package, and nothing beside it. */
export function installInto(app: string, tarball: string): void {
  mkdirSync(app)
  writeFileSync(join(app, 'package.json'), '{ "private": true }')
  npm(app, 'install', '--offline', '--omit=peer', tarball)
}

/** Runs Node.js there, and fails with all that it said. */
export function node(cwd: string, ...args: string[]): string {
  return run(cwd, process.execPath, ...args)
}

export function run(cwd: string, command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}
