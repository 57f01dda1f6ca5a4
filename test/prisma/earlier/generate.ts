import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ENGINE, generated, PACKAGES } from './version'

const PROVIDERS = ['postgresql', 'mysql', 'sqlite']
const tests = join(__dirname, '..')

/** Generates the clients of an earlier Prisma, from the schemas of the tests and the models that the package contains. */
export async function generateEarlierClients(): Promise<void> {
  await Promise.all(PROVIDERS.map(generate))
}

async function generate(provider: string): Promise<void> {
  const folder = generated(provider)
  await mkdir(folder, { recursive: true })
  const [, models = ''] = (await readFile(join(tests, provider, 'schema.prisma'), 'utf8')).split(
    /(?<=^}\n)(?=\nmodel )/m,
  )
  const lockTable = await readFile(join(tests, '../../prisma', provider, 'shedlock.prisma'), 'utf8')
  const client = `generator client {
  provider        = "prisma-client-js"
  output          = "client"${ENGINE === 'client' ? '\n  engineType      = "client"' : ''}
  previewFeatures = ["driverAdapters"]
}
`
  const database = `datasource db {
  provider = "${provider}"
  url      = env("DATABASE_URL")
}
`
  const schema = join(folder, 'schema.prisma')
  await writeFile(schema, [client, database, models, lockTable].join('\n'))
  await promisify(execFile)(
    process.execPath,
    [join(PACKAGES, 'prisma/build/index.js'), 'generate', '--schema', schema],
    { cwd: folder, env: { ...process.env, ...(ENGINE === 'native' ? {} : await withoutEngines(folder)) } },
  )
}

/** Names a file in place of each engine that Prisma would download: WebAssembly needs none of them. */
async function withoutEngines(folder: string): Promise<Record<string, string>> {
  const noEngine = join(folder, 'no-engine')
  await writeFile(noEngine, '', { mode: 0o755 })
  return {
    PRISMA_QUERY_ENGINE_LIBRARY: noEngine,
    PRISMA_QUERY_ENGINE_BINARY: noEngine,
    PRISMA_SCHEMA_ENGINE_BINARY: noEngine,
  }
}
