import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '..')

/** What a checkout needs to be built and packed, beside what the package lists. */
const SOURCES = [
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts',
  'src',
  'README.md',
  'LICENSE',
]

type Manifest = Record<string, unknown> & { files: string[]; publishConfig: object }

/** Copies what is built and packed apart, as a release does, and lends it the installed packages. @returns its package.json */
export function copySources(folder: string): Manifest {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const listed = manifest.files.filter((file) => file !== 'dist' && !file.startsWith('!'))
  for (const name of [...SOURCES, ...listed])
    cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  return manifest
}
