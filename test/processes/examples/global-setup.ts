import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import findBackends from '../../jest/global-setup'

const root = join(__dirname, '../../..')

/** Finds the backends, and compiles the examples against the package as any other project would: through its exports. */
export default async function globalSetup(): Promise<void> {
  await findBackends()
  await run('prisma/build/index.js', 'generate', '--schema', 'examples/nestjs-prisma/schema.prisma')
  await run('typescript/bin/tsc', '-p', 'examples')
  await run('typescript/bin/tsc', '-p', 'examples/sql-clients')
}

async function run(script: string, ...parameters: string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [require.resolve(script), ...parameters], {
    cwd: root,
    // The command line downloads an engine before it does anything. Generating does not use it, so any file will do.
    env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, ...process.env },
  })
}
