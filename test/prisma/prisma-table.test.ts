import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { prismaFiles } from '../../scripts/prisma-files'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { prismaMigration, prismaModel } from '../../src/prisma/prisma-model'
import { prismaBackends, type PrismaTestDatabase, type TestClient } from './clients'
import { afterTest } from '../after-test'
import { describeBackends } from '../backends'
import { filesUnder } from '../files-under'
import { itIf } from '../it-if'
import { lockError } from '../lock-error'
import { read, root } from '../project'

const folder = join(root, 'prisma')
const tables = read('docs/tables.md')
/** What the page says a migration of Prisma holds. */
const RENAME = /^```sql\n(alter table "shedlock" rename to [^]*?)^```$/m

it('the files under prisma are what npm run generate writes', () => {
  expect(filesUnder('prisma')).toEqual(prismaFiles())
})

describe('the model', () => {
  it('maps custom names', () => {
    const columnNames = { name: 'jobName', lockUntil: 'lockUntil', lockedBy: 'the "holder"' }
    expect(prismaModel('postgresql', { schema: 'app', tableName: 'JobLocks', columnNames })).toBe(
      `/// A lock of ShedLock; times are UTC.
model ShedLock {
  name      String   @id @map("jobName") @db.VarChar(64)
  lockUntil DateTime @db.Timestamp(3)
  lockedAt  DateTime @map("locked_at") @db.Timestamp(3)
  lockedBy  String   @map("the \\"holder\\"") @db.VarChar(255)

  @@map("JobLocks")
  @@schema("app")
}
`,
    )
  })

  it('is refused for a provider without a lock table or without schemas, and for options that do not exist', () => {
    for (const print of [prismaModel, prismaMigration])
      for (const [provider, options] of [
        ['mysql', { schema: 'ops' }],
        ['sqlite', { schema: 'ops' }],
        ['mongodb', {}],
        // An adapter's name for PostgreSQL.
        ['postgres', {}],
        ['sqlite', { table: 'x' }],
      ] as const)
        expect(() => print(provider as 'sqlite', options as object)).toThrow(
          lockError('INVALID_CONFIGURATION'),
        )
  })
})

interface ModelClient extends TestClient {
  readonly shedLock: {
    findMany(): Promise<{ name: string; lockUntil: Date; lockedAt: Date; lockedBy: string }[]>
  }
}

const backends = prismaBackends().filter(({ shared }) => shared)

describeBackends(backends)('the table of Prisma on $name by $adapter', (backend) => {
  let database: PrismaTestDatabase
  let prisma: ModelClient

  beforeEach(async () => {
    database = await backend.create()
    afterTest(() => database.drop())
    prisma = (await database.connect()) as ModelClient
  })

  const itReads = itIf(backend.unreadable === undefined, `to read ${backend.unreadable ?? ''}`)
  itReads('works for locks, and can be read through the model, with times in UTC', async () => {
    // Between two statements there is an empty line; within one, of PostgreSQL, there may be semicolons.
    for (const statement of prismaMigration(backend.provider).split(/;\n(?:\n|$)/))
      if (statement.trim()) await prisma.$executeRawUnsafe(statement)
    const provider = prismaLockProvider(prisma, { lockedBy: 'me' })
    expect(await provider.table.check()).toEqual([])
    const before = Date.now() - 1000
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    const after = Date.now() + 1000
    const [row] = await prisma.shedLock.findMany()
    expect(row).toMatchObject({ name: 'job', lockedBy: expect.stringMatching(/^me\//) })
    // Not compared with each other: PostgreSQL reads its clock for each of the two.
    for (const begin of [row?.lockedAt.getTime(), Number(row?.lockUntil) - 3_600_000]) {
      expect(begin).toBeGreaterThan(before)
      expect(begin).toBeLessThan(after)
    }
    await lock?.unlock()
  })

  // The command line needs an engine that it downloads, which not every machine can. With MySQL it was never tried.
  const engine = process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ?? process.env['GITHUB_ACTIONS']
  const itWithEngine = itIf(
    engine !== undefined && backend.provider !== 'mysql',
    'a schema engine, and not MySQL',
  )

  const openProject = async (files: string) => {
    const project = await mkdtemp(join(root, 'node_modules', '.prisma-test-'))
    afterTest(() => rm(project, { recursive: true }))
    const schema = join(project, 'schema.prisma')
    await cp(files, project, { recursive: true })
    const config = { schema, migrations: { path: 'migrations' }, datasource: { url: database.url } }
    await writeFile(join(project, 'prisma.config.ts'), `export default ${JSON.stringify(config)}`)
    const cli = (...command: string[]): string =>
      execFileSync(process.execPath, [require.resolve('prisma/build/index.js'), ...command], {
        cwd: project,
        encoding: 'utf8',
        stdio: 'pipe',
        env: { ...process.env, SCHEMA_ENGINE_MODULES: process.env['SCHEMA_ENGINE_MODULES'] ?? root },
      })
    const noDrift = () =>
      cli('migrate', 'diff', '--from-config-datasource', '--to-schema', schema, '--exit-code')
    const addMigration = async (name: string, sql: string) => {
      await mkdir(join(project, 'migrations', name))
      await writeFile(join(project, 'migrations', name, 'migration.sql'), sql)
    }
    return { schema, cli, noDrift, addMigration }
  }

  itWithEngine('has no drift for the command line, before and after it was renamed', async () => {
    const { schema, cli, noDrift, addMigration } = await openProject(join(folder, backend.provider))
    expect(cli('migrate', 'deploy')).toContain('successfully applied')
    expect(cli('migrate', 'status')).toContain('up to date')
    noDrift()

    // The recipe of docs/tables.md for another name.
    await prismaLockProvider(prisma).lock({ name: 'job', lockAtMostFor: '1h' })
    const model = await readFile(schema, 'utf8')
    await writeFile(schema, model.replace('@@map("shedlock")', '@@map("job_locks")'))
    expect(() => noDrift()).toThrow()
    const [, rename = ''] = RENAME.exec(tables) ?? []
    const statements = backend.dialect === 'sqlite' ? (rename.split('\n')[0] ?? '') : rename
    await addMigration('20260101000000_rename_shedlock', statements)
    expect(cli('migrate', 'deploy')).toContain('successfully applied')
    noDrift()
    const renamed = prismaLockProvider(prisma, { tableName: 'job_locks' })
    expect(await renamed.table.check()).toEqual([])
    expect(await renamed.table.find('job')).toMatchObject({ held: true })
  })

  itWithEngine('has no drift for the command line if a provider has created it', async () => {
    const { noDrift } = await openProject(join(folder, backend.provider))
    await prismaLockProvider(prisma).table.create()
    noDrift()
  })

  const hasSchemas = backend.provider !== 'sqlite'
  const names = { tableName: 'Locks', columnNames: { name: 'jobName', lockUntil: 'until' } }
  itWithEngine('has no drift for the command line with other names, and in a schema', async () => {
    const options = hasSchemas ? { ...names, schema: 'ops' } : names
    const { schema, cli, noDrift, addMigration } = await openProject(join(folder, backend.provider))
    const schemas = hasSchemas ? '  schemas = ["ops"]\n' : ''
    await writeFile(
      schema,
      `datasource db {\n  provider = "${backend.provider}"\n${schemas}}\n\n${prismaModel(backend.provider, options)}`,
    )
    await rm(join(schema, '../migrations/20250101000000_create_shedlock'), { recursive: true })
    if (hasSchemas) await addMigration('20260101000000_create_schema', 'create schema ops')
    await addMigration('20260101000001_create_locks', prismaMigration(backend.provider, options))
    expect(cli('migrate', 'deploy')).toContain('successfully applied')
    noDrift()
    const provider = prismaLockProvider(prisma, options)
    expect(await provider.table.check()).toEqual([])
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1h' })).toBeDefined()
  })
})
