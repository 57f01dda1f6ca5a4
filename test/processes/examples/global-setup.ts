import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import findBackends from '../../jest/global-setup'
import { compilePrograms } from './compile-programs'
import { APPS } from './programs'

const root = join(__dirname, '../../..')

/** Finds the backends, and compiles the examples and the programs of the documentation as any other project would: through the package's exports. */
export default async function globalSetup(): Promise<void> {
  await findBackends()
  await run('prisma/build/index.js', 'generate', '--schema', 'examples/nestjs-prisma/schema.prisma')
  await run('typescript-7/bin/tsc', '-p', 'examples')
  const folder = compilePrograms(APPS)
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true })
  })
  process.env['COMPILED_PROGRAMS'] = folder
}

async function run(script: string, ...parameters: string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, 'node_modules', script), ...parameters], {
    cwd: root,
    // The command line downloads an engine before it does anything. Generating does not use it, so any file will do.
    env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, ...process.env },
  })
}
