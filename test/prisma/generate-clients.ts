import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const PROVIDERS = ['postgresql', 'cockroachdb', 'mysql', 'sqlserver', 'sqlite']

/** Generates the clients that the tests use, where there is none yet or its schema has changed since. */
export default async function generateClients(): Promise<void> {
  for (const provider of PROVIDERS) {
    if (await isCurrent(provider)) continue
    await promisify(execFile)(
      process.execPath,
      [require.resolve('prisma/build/index.js'), 'generate', '--schema', join(__dirname, provider)],
      // The command line downloads an engine before it does anything. Generating does not use it, so any file will do.
      { env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, ...process.env } },
    )
  }
}

async function isCurrent(provider: string): Promise<boolean> {
  const generated = await changed(join(__dirname, 'generated', provider, 'client.ts'))
  const schemas = await readdir(join(__dirname, provider))
  const newest = await Promise.all(schemas.map((schema) => changed(join(__dirname, provider, schema))))
  return generated > Math.max(...newest)
}

function changed(file: string): Promise<number> {
  return stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => -Infinity,
  )
}
