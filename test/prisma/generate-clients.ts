import { execFile } from 'node:child_process'
import { copyFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const PROVIDERS = ['postgresql', 'cockroachdb', 'mysql', 'sqlserver', 'sqlite']

/** Generates the clients that the tests use, where there is none yet or its schema has changed since. */
export async function generateClients(): Promise<void> {
  for (const provider of PROVIDERS) {
    const folder = join(__dirname, provider)
    const model = join(__dirname, '../../prisma', provider, 'shedlock.prisma')
    if (await isCurrent(provider, [join(folder, 'schema.prisma'), model])) continue
    // Prisma reads the whole folder. A copy, not a link: not every checkout or archive keeps links.
    await copyFile(model, join(folder, 'shedlock.prisma'))
    await promisify(execFile)(
      process.execPath,
      [require.resolve('prisma/build/index.js'), 'generate', '--schema', folder],
      // The command line downloads an engine before it does anything. Generating does not use it, so any file will do.
      { env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, ...process.env } },
    )
  }
}

async function isCurrent(provider: string, schemas: readonly string[]): Promise<boolean> {
  const generated = await changed(join(__dirname, 'generated', provider, 'client.ts'))
  const newest = await Promise.all(schemas.map(changed))
  return generated > Math.max(...newest)
}

function changed(file: string): Promise<number> {
  return stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => -Infinity,
  )
}
