import { existsSync } from 'node:fs'
import { chmod, readdir, readlink, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated } from '../backends/open-database'
import { eventually } from '../eventually'
import { itIf } from '../it-if'
import { adapterFor, connect } from '../prisma/adapters'
import { temporaryFolder } from '../temporary-folder'

/** Root may write everywhere. */
const NOBODY = 65_534
const JOB = { name: 'job', lockAtMostFor: '1h' }

/** An app on a SQLite file. */
interface App {
  readonly provider: SqlLockProvider
  disconnect(): Promise<unknown>
  connect(): Promise<unknown>
}

const optionsOf = (database: string, rest: object = {}) =>
  ({ type: 'better-sqlite3', database, ...migrated(), ...rest }) as DataSourceOptions

async function typeOrm(file: string, options: object, lockOptions = {}): Promise<App> {
  const dataSource = await new DataSource(optionsOf(file, options)).initialize()
  afterTest(() => dataSource.isInitialized && dataSource.destroy())
  return {
    provider: typeOrmLockProvider(dataSource, lockOptions),
    disconnect: () => dataSource.destroy(),
    connect: () => dataSource.initialize(),
  }
}

async function prisma(file: string, options: object, lockOptions = {}): Promise<App> {
  // The migration, which is a command of Prisma's own.
  const migrate = async () => (await typeOrm(file, options)).disconnect()
  await migrate()
  const client = await connect(adapterFor('sqlite'), `file:${file}`)
  await client.$connect()
  afterTest(() => client.$disconnect())
  const provider = prismaLockProvider(client, lockOptions)
  return { provider, disconnect: () => client.$disconnect(), connect: migrate }
}

const journals = [{ enableWAL: false }, { enableWAL: true }]
const orms = [
  { orm: 'TypeORM', open: typeOrm },
  { orm: 'Prisma', open: prisma },
]
const cases = availableBackends('sqlite').flatMap((backend) =>
  orms.flatMap((each) => journals.map((journal) => ({ ...each, journal, backend }))),
)

describeBackends(cases)('the SQLite file of $orm, $journal', ({ orm, open, journal, backend }) => {
  const home = process.cwd()
  let file: string

  const newFile = async (): Promise<string> => {
    const database = await backend.create()
    afterTest(() => database.drop())
    return (database.typeOrm as { database: string }).database
  }
  beforeEach(async () => {
    file = await newFile()
  })

  afterEach(() => {
    process.chdir(home)
  })

  /** Whether another process would be refused. */
  const isHeld = async (): Promise<boolean> => {
    const other = await typeOrm(file, { migrations: [] })
    const lock = await other.provider.lock(JOB)
    await lock?.unlock()
    await other.disconnect()
    return lock === undefined
  }

  it('is the one at that path after it was removed and made anew', async () => {
    const app = await open(file, journal)
    await (await app.provider.lock(JOB))?.unlock()
    await app.disconnect()
    for (const end of ['', '-wal', '-shm']) await rm(file + end, { force: true })
    await app.connect()
    expect(await app.provider.lock(JOB)).toBeDefined()
    expect(await isHeld()).toBe(true)
  })

  it('is not made anew by a lock after it was removed', async () => {
    const app = await open(file, journal, { timeLimit: '1s' })
    await app.provider.lock({ ...JOB, name: 'before' })
    await rm(file)
    const gone = { code: 'DATABASE_ERROR', message: expect.stringContaining(`there is no file ${file}`) }
    await expect(app.provider.lock(JOB)).rejects.toMatchObject(gone)
    expect(existsSync(file)).toBe(false)
  })

  it('is the one of the app after the working directory changed', async () => {
    process.chdir(dirname(file))
    const app = await open(basename(file), journal)
    // Prisma's adapter opens its relative path there too, which makes an empty file.
    process.chdir(temporaryFolder())
    const lock = await app.provider.lock(JOB)
    expect(await app.provider.lock(JOB)).toBeUndefined()
    await lock?.unlock()
    expect(await app.provider.lock(JOB)).toBeDefined()
    expect(await isHeld()).toBe(true)
  })

  // With WAL, the app's connection cannot be opened either.
  itIf(!journal.enableWAL && process.platform !== 'win32', 'a journal, and modes of folders')(
    'needs a folder in which this user may write, as the check of the table says',
    async () => {
      const app = await open(file, journal)
      expect(await app.provider.table.check()).toEqual([])
      expect(await app.provider.table.list()).toEqual([])
      await chmod(file, 0o666)
      await chmod(dirname(file), 0o555)
      const isRoot = process.getuid?.() === 0
      if (isRoot) process.seteuid?.(NOBODY)
      try {
        const refused = { code: 'REFUSED', severity: 'error', message: expect.stringContaining('its folder') }
        expect(await app.provider.table.check()).toMatchObject([refused])
        await expect(app.provider.lock(JOB)).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
      } finally {
        if (isRoot) process.seteuid?.(0)
        await chmod(dirname(file), 0o755)
      }
      expect(await app.provider.table.check()).toEqual([])
    },
  )

  it('is closed soon after the app has disconnected', async () => {
    const app = await open(file, journal)
    await (await app.provider.lock(JOB))?.unlock()
    await app.disconnect()
    await eventually(async () => expect(await openFiles(file)).toEqual([]))
  })

  itIf(orm === 'TypeORM', 'a DataSource')('is another one after the DataSource was given one', async () => {
    const dataSource = await new DataSource(optionsOf(file, journal)).initialize()
    const provider = typeOrmLockProvider(dataSource)
    await provider.lock(JOB)
    await dataSource.destroy()
    await dataSource.setOptions(optionsOf(await newFile(), journal)).initialize()
    afterTest(() => dataSource.destroy())
    expect(await provider.lock(JOB)).toBeDefined()
    expect(await provider.lock(JOB)).toBeUndefined()
  })
})

/** The files of this process that begin with the path. */
async function openFiles(path: string): Promise<string[]> {
  const links = await readdir('/proc/self/fd').catch(() => [])
  const files = await Promise.all(links.map((link) => readlink(`/proc/self/fd/${link}`).catch(() => '')))
  return files.filter((open) => open.startsWith(path))
}
