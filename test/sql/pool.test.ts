import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { DataSource } from 'typeorm'
import {
  dialects,
  DriverError,
  SqlLockProvider,
  type SqlClient,
  type StatementResult,
} from '../../src/sql/internal'
import { prismaLockProvider } from '../../src/prisma/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { freePort } from '../backends/free-port'
import { migrated, openDatabase } from '../backends/open-database'
import { hasPgBouncer, startPgBouncer } from '../backends/pgbouncer'
import { itIf } from '../it-if'
import { prismaBackends, type PrismaTestDatabase } from '../prisma/clients'
import { TcpProxy } from '../processes/servers/tcp-proxy'
import { LIMIT, network, SECOND, settle, useVirtualTime } from './on-virtual-time'

const job = { name: 'job', lockAtMostFor: '1h' }

/** A pool that counts its sessions. Reads find every lock free, because no write is delivered. */
class CountingPool implements SqlClient {
  opened = 0
  ended = 0
  released = 0
  /** How each write is answered. */
  write: () => Promise<StatementResult> = () => Promise.resolve({ rows: [], changed: 1 })

  async connect() {
    this.opened++
    const session = await network.connect()
    return {
      execute: async (...all: Parameters<typeof session.execute>) =>
        all[2] === 'changed' ? this.write() : session.execute(...all),
      release: () => this.released++,
      end: () => this.ended++,
    }
  }
}

/** Waits for work on virtual time. @returns its error */
async function failing(work: Promise<unknown>, milliseconds = 6 * SECOND): Promise<unknown> {
  const failed = work.then(
    () => undefined,
    (error: unknown) => error,
  )
  return settle(failed, milliseconds)
}

const readOnly = () => Promise.reject(new DriverError('READ_ONLY', 'the server is read-only'))
const silent = () => new Promise<StatementResult>(() => undefined)
const drivenOut = () => Promise.reject(new DriverError(undefined, 'Query read timeout'))

describe('the connections of a pool', () => {
  let pool: CountingPool
  let provider: SqlLockProvider

  afterEach(() => settle(provider.drain(0), LIMIT))
  useVirtualTime()

  beforeEach(async () => {
    pool = new CountingPool()
    provider = new SqlLockProvider(pool, dialects.sqlite)
    await (await provider.lock(job))?.unlock()
    Object.assign(pool, { opened: 0, ended: 0, released: 0 })
  })

  it('are borrowed once for an acquisition, and given back before the lock is returned', async () => {
    expect(await provider.lock(job)).toBeDefined()
    expect(pool).toMatchObject({ opened: 1, released: 1, ended: 0 })
  })

  it.each([
    [1, 10],
    [10, 20],
    [20, 30],
  ])(
    'are replaced sparingly while the server is read-only: %d calls open at most %d',
    async (calls, most) => {
      pool.write = readOnly
      const errors = await Promise.all(
        Array.from({ length: calls }, (_, index) => failing(provider.lock({ ...job, name: `job ${index}` }))),
      )
      for (const error of errors) expect(error).toMatchObject({ code: 'DATABASE_ERROR' })
      expect(pool.ended).toBeLessThanOrEqual(most)
      expect(pool.opened - pool.released).toBe(pool.ended)
    },
  )

  it('are replaced at once while only the pool is out of date', async () => {
    let stale = 3
    pool.write = () => (stale-- > 0 ? readOnly() : Promise.resolve({ rows: [], changed: 1 }))
    const locked = provider.lock(job)
    await jest.advanceTimersByTimeAsync(20)
    expect(await locked).toBeDefined()
    expect(pool.ended).toBe(3)
  })

  it('are given up at most twice by one call', async () => {
    const lock = await provider.lock(job)
    pool.write = silent
    expect(await failing(Promise.resolve(lock?.unlock()))).toMatchObject({ code: 'TIMEOUT' })
    expect(pool.ended).toBe(2)
  })

  it('are ended after a time-out of the driver as after that of the provider', async () => {
    const lock = await provider.lock(job)
    pool.write = drivenOut
    const unlocked = lock?.unlock()
    await jest.advanceTimersByTimeAsync(1)
    expect(pool.ended).toBeGreaterThan(0)
    pool.write = () => Promise.resolve({ rows: [], changed: 1 })
    await jest.advanceTimersByTimeAsync(SECOND)
    await unlocked
  })

  it('are kept if a commit was not replicated, because they are healthy', async () => {
    const lock = await provider.lock(job)
    pool.write = () => Promise.reject(new DriverError('NOT_REPLICATED', 'no standby'))
    await failing(Promise.resolve(lock?.unlock()))
    expect(pool.ended).toBe(0)
  })

  it('that wait behind one row use up only ten of twenty ends, and an answered write forgives the others', async () => {
    const lock = await provider.lock(job)
    pool.write = silent
    await failing(Promise.resolve(lock?.unlock()))
    // The release goes on in the background.
    await jest.advanceTimersByTimeAsync(3_600 * SECOND)
    expect(pool.ended).toBeLessThanOrEqual(10)
    for (let count = 0; count < 15; count++) await failing(provider.lock({ ...job, name: `other ${count}` }))
    const used = pool.ended
    pool.write = () => Promise.resolve({ rows: [], changed: 1 })
    await (await provider.lock({ ...job, name: 'answered' }))?.unlock()
    pool.write = silent
    for (let count = 0; count < 10; count++) await failing(provider.lock({ ...job, name: `silent ${count}` }))
    expect(pool.ended - used).toBeGreaterThanOrEqual(10)
  })

  it('are requested again while the server has no room for them', async () => {
    const connect = pool.connect.bind(pool)
    let full = 5
    pool.connect = () =>
      full-- > 0 ? Promise.reject(new DriverError('1040', 'Too many connections', false)) : connect()
    const locked = provider.lock(job)
    await jest.advanceTimersByTimeAsync(SECOND)
    expect(await locked).toBeDefined()
    expect(pool).toMatchObject({ opened: 1, released: 1, ended: 0 })
  })

  it('are not ended while they go back, however long that takes, because the app may have them already', async () => {
    const connect = pool.connect.bind(pool)
    pool.connect = async () => {
      const session = await connect()
      const release = () => new Promise<never>(() => pool.released++)
      return { ...session, release } as unknown as typeof session
    }
    expect(await failing(provider.lock(job))).toMatchObject({ code: 'TIMEOUT' })
    expect(pool.released).toBeGreaterThan(0)
    expect(pool.ended).toBe(0)
  })

  it.each(['success', 'error'])('that cannot be ended go back after a late %s', async (answer) => {
    const connect = pool.connect.bind(pool)
    pool.connect = async () => ({ ...(await connect()), end: undefined }) as never
    pool.write = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20 * SECOND))
      return answer === 'success' ? { rows: [], changed: 1 } : drivenOut()
    }
    expect(await failing(provider.lock(job))).toMatchObject({ code: 'TIMEOUT' })
    expect(pool.opened - pool.released).toBeGreaterThan(0)
    // Statements of the release in the background are answered at once: only late answers are waited for.
    pool.write = () => Promise.resolve({ rows: [], changed: 1 })
    await jest.advanceTimersByTimeAsync(60 * SECOND)
    expect(pool.opened - pool.released).toBe(0)
  })

  it('go back if they arrive too late', async () => {
    const connect = pool.connect.bind(pool)
    pool.connect = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20 * SECOND))
      return connect()
    }
    expect(await failing(provider.lock(job))).toMatchObject({ code: 'TIMEOUT' })
    await jest.advanceTimersByTimeAsync(30 * SECOND)
    expect(pool).toMatchObject({ opened: 1, released: 1, ended: 0 })
  })
})

const postgres = availableBackends().filter(({ name }) => name === 'postgres')

describeBackends(postgres)('a server that is not there, on $name', (backend) => {
  /** A client, and the options with which its pool connects. */
  async function open() {
    const { dataSource } = await openDatabase(backend, migrated())
    const { master } = dataSource.driver as unknown as { master: { options: { port: number } } }
    // The one connection that there is is in use.
    const runner = dataSource.createQueryRunner()
    await runner.connect()
    afterTest(() => runner.release())
    return { dataSource, options: master.options }
  }

  it('is connected to again within the time limit, so that a restart loses no job', async () => {
    const { dataSource, options } = await open()
    const { port } = options
    // New connections are refused for a moment.
    options.port = await freePort()
    await expect(dataSource.query('select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const locked = typeOrmLockProvider(dataSource).lock(job)
    setTimeout(() => (options.port = port), 300)
    expect(await locked).toBeDefined()
  })

  it.each([
    ['a wrong database', { database: 'nowhere' }],
    ['a host without an address', { host: 'nowhere.invalid' }],
  ])('fails at once for what cannot change: %s', async (_, wrong) => {
    const { dataSource, options } = await open()
    Object.assign(options, wrong)
    const provider = typeOrmLockProvider(dataSource, { timeLimit: '1h' })
    await expect(provider.lock(job)).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
  })
})

const clients = {
  TypeORM: async (url: string) => {
    const dataSource = await new DataSource({ type: 'postgres', url }).initialize()
    afterTest(() => dataSource.destroy())
    return {
      provider: typeOrmLockProvider(dataSource),
      query: (sql: string) => dataSource.query<unknown>(sql),
    }
  },
  Prisma: async (url: string, database: PrismaTestDatabase) => {
    const prisma = await database.connect({ connectionString: url })
    return { provider: prismaLockProvider(prisma), query: (sql: string) => prisma.$queryRawUnsafe(sql) }
  },
}
const pooled = prismaBackends()
  .filter(({ name }) => name === 'postgres')
  .flatMap((backend) => Object.entries(clients).map(([orm, connect]) => ({ backend, orm, connect })))

describeBackends(pooled)(
  'a connection that a pooler keeps, $orm on $backend.name',
  ({ backend, connect }) => {
    itIf(hasPgBouncer, 'pgbouncer')(
      'is ended if its server accepts no writes, so that locks go on',
      async () => {
        const { database, dataSource: direct } = await openDatabase(backend, migrated())
        const pooler = await startPgBouncer(database.url)
        afterTest(() => pooler.stop())
        const link = await TcpProxy.listen(Number(new URL(pooler.url).port))
        afterTest(() => link.close())
        // Without a network in between, the pooler sees the end before the answer, and then ends its connection by itself.
        link.slowDown(20)
        const { database: name } = database.typeOrm as { database: string }
        await direct.query(`alter database "${name}" set default_transaction_read_only = on`)
        const url = Object.assign(new URL(pooler.url), { port: String(link.port) }).href
        const { provider, query } = await connect(url, database)
        const readOnly = () => query("select current_setting('transaction_read_only') as value")
        expect(await readOnly()).toEqual([{ value: 'on' }])
        await direct.query(`alter database "${name}" reset default_transaction_read_only`)
        expect(await provider.lock(job)).toBeDefined()
        expect(await readOnly()).toEqual([{ value: 'off' }])
      },
    )
  },
)
