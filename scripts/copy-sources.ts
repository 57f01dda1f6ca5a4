import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '..')

/** The files that are needed to build and pack a checkout, besides those listed in package.json. */
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

/**
 * Copies the sources into a folder, to be built and packed there as for a release, and links the installed packages. @returns the
 * package.json
 */
export function copySources(folder: string): Manifest {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const listed = manifest.files.filter((file) => file !== 'dist' && !file.startsWith('!'))
  for (const name of [...SOURCES, ...listed])
    cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  return manifest
}
