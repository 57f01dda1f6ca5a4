import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { DataSource } from 'typeorm'
import { type Lock, LockError } from '../../src/core/internal'
import { dialects } from '../../src/sql/dialects'
import type { Dialect } from '../../src/sql/dialect'
import { DriverError, type SqlClient, type StatementResult } from '../../src/sql/session'
import { sql } from '../../src/sql/sql'
import { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { hasPgBouncer, startPgBouncer } from '../backends/pgbouncer'
import { itIf } from '../it-if'
import { lockError } from '../lock-error'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { TcpProxy } from '../backends/tcp-proxy'
import { LIMIT, SECOND, settle, useVirtualTime } from './on-virtual-time'
import type { UnreliableClient } from '../unreliable-client'

const job = { name: 'job', lockAtMostFor: '1h' }

/** A pool that counts its sessions and statements. Reads find every lock free, because no write is delivered. */
class CountingPool implements SqlClient {
  constructor(private readonly network: UnreliableClient) {}

  opened = 0
  sent = 0
  ended = 0
  released = 0
  left = 0
  unusable: SqlClient['unusable']
  /** Is awaited before a session is opened. */
  opening: () => Promise<unknown> = () => Promise.resolve()
  /** What reads find instead. */
  read: StatementResult | undefined
  /** How each write is answered. */
  write: () => Promise<StatementResult> = () => Promise.resolve({ rows: [], changed: 1 })

  async connect() {
    await this.opening()
    this.opened++
    const session = await this.network.connect()
    return {
      execute: (...all: Parameters<typeof session.execute>) => {
        this.sent++
        const rows = async () => this.read ?? session.execute(...all)
        return { rows, changed: this.write }[all[2]]()
      },
      release: () => this.released++,
      end: () => this.ended++,
    }
  }

  leave = () => Promise.resolve(this.left++)
}

/** Waits for work on virtual time. @returns its error */
async function failing(work: Promise<unknown>, milliseconds = 6 * SECOND): Promise<unknown> {
  const failed = work.then(
    () => undefined,
    (error: unknown) => error,
  )
  return settle(failed, milliseconds)
}

const silent = () => new Promise<StatementResult>(() => undefined)
const changing = (changed?: number) => () => Promise.resolve({ rows: [], changed })
const failed = (code: string | undefined, message: string) => () =>
  Promise.reject(new DriverError(code, message))
const answered = changing(1)
type Answer = () => Promise<StatementResult>
const once = (first: Answer, then: Answer) => {
  const answers = [first]
  return () => (answers.pop() ?? then)()
}
const readOnly = failed('READ_ONLY', 'the server is read-only')
const drivenOut = failed(undefined, 'Query read timeout')
const refusing = (message: string, code?: string) => ({
  opening: () => Promise.reject(new DriverError(code, message, false)),
})
const refusedForGood = () => Promise.reject(new DriverError(undefined, 'wrong password', false, true))
const opened = () => Promise.resolve()
const destroyed = () => new LockError('INVALID_CLIENT', 'destroyed')

/** SQLite's, but an acquisition without a slot sends nothing before its write. */
const writingFirst: Dialect = {
  ...dialects.sqlite,
  acquire: (lock) => dialects.sqlite.acquire(lock).slice(lock.slot ? 0 : -1),
  readOnlyErrors: { STANDBY: 'this server is a standby' },
}

describe('the check of a table before its first lock', () => {
  const world = useVirtualTime()

  type Read = (check: number, send: () => Promise<StatementResult>) => Promise<StatementResult>
  /** Counts the checks. @param read answers each */
  const checking = (read: Read = (_, send) => send(), dialect: Dialect = dialects.sqlite) => {
    const client = {
      checks: 0,
      connect: async () => {
        const session = await world.network.connect()
        const execute: typeof session.execute = (statement, ...rest) => {
          const isCheck = statement.pieces.join('').includes('pragma_table_info')
          const send = () => session.execute(statement, ...rest)
          return isCheck ? read(++client.checks, send) : send()
        }
        return { ...session, execute }
      },
    }
    return { client, provider: new SqlLockProvider(client, dialect) }
  }
  const locks = (provider: SqlLockProvider) =>
    Promise.allSettled(
      Array.from({ length: 20 }, (_, each) => provider.lock({ ...job, name: `job ${each}` })),
    )

  it('is sent once for many locks at the same time', async () => {
    const { client, provider } = checking()
    const results = await settle(locks(provider), SECOND)
    expect(results.map(({ status }) => status)).toEqual(Array(20).fill('fulfilled'))
    expect(client.checks).toBe(1)
    await settle(provider.drain(), SECOND)
  })

  it('names its own lock in the error of each', async () => {
    const missing = new SqlLockProvider(world.network, dialects.sqlite, { tableName: 'missing' })
    const results = await settle(locks(missing), SECOND)
    for (const [each, result] of results.entries())
      expect(result).toMatchObject({ reason: { code: 'TABLE_MISSING', lockName: `job ${each}` } })
  })

  it.each([
    ['gets no answer', silent, 20],
    ['fails', failed('SQLITE_ERROR', 'no such function'), 19],
  ])('is sent again if it %s, and fails no other lock', async (_, answer, acquired) => {
    const { provider } = checking((check, send) => (check === 1 ? answer() : send()))
    const results = await settle(locks(provider), 2 * LIMIT)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(acquired)
    await settle(provider.drain(), SECOND)
  })

  it('changes nothing if a later one was answered before it, and has found another table', async () => {
    const answer = promiseWithResolvers()
    const table = { ...dialects.sqlite.table, schema: sql`'main'` }
    const read: Read = async (check, send) => {
      const { rows } = await send()
      if (check === 1) await answer.promise
      return { rows: rows.map((row) => ({ ...row, table_schema: check === 1 ? 'temp' : 'main' })) }
    }
    const { provider } = checking(read, { ...dialects.sqlite, table })
    expect(await settle(provider.lock(job), LIMIT)).toBeDefined()
    answer.resolve()
    await jest.advanceTimersByTimeAsync(1)
    expect(await settle(provider.lock(job))).toBeUndefined()
  })
})

describe('the connections of a pool', () => {
  let pool: CountingPool
  let provider: SqlLockProvider

  afterEach(() => {
    jest.restoreAllMocks()
    return settle(provider.drain(0), LIMIT)
  })
  const world = useVirtualTime()

  beforeEach(async () => {
    pool = new CountingPool(world.network)
    provider = new SqlLockProvider(pool, writingFirst)
    await (await provider.lock(job))?.unlock()
    Object.assign(pool, { opened: 0, sent: 0, ended: 0, released: 0 })
  })

  /** As Prisma's connections. */
  const neverEnd = () => {
    const connect = pool.connect.bind(pool)
    pool.connect = async () => ({ ...(await connect()), end: undefined }) as never
  }

  it('are borrowed once for each call, and given back before it returns', async () => {
    const lock = await provider.lock(job)
    expect(pool).toMatchObject({ opened: 1, sent: 1, released: 1, ended: 0 })
    await lock?.extend('2h')
    expect(pool).toMatchObject({ opened: 2, sent: 2, released: 2 })
    await lock?.unlock()
    expect(pool).toMatchObject({ opened: 3, sent: 3, released: 3 })
    await new SqlLockProvider(pool, writingFirst).table.list()
    expect(pool).toMatchObject({ opened: 4, sent: 4, released: 4 })
    await new SqlLockProvider(pool, writingFirst).table.check()
    expect(pool).toMatchObject({ opened: 5, released: 5, ended: 0 })
  })

  it('show the table again after an error that could not be explained', async () => {
    pool.write = () => {
      pool.opening = refusedForGood
      return failed('NO_SUCH_TABLE', 'no such table')()
    }
    await expect(provider.lock(job)).rejects.toEqual(lockError('DATABASE_ERROR', 'no such table'))
    Object.assign(pool, { opening: opened, write: answered, sent: 0 })
    expect(await provider.lock(job)).toBeDefined()
    expect(pool.sent).toBeGreaterThan(1)
  })

  it.each([
    [1, 10],
    [20, 30],
  ])('are replaced sparingly on a read-only server: %d calls open at most %d', async (calls, most) => {
    jest.spyOn(Math, 'random').mockReturnValue(1)
    pool.write = readOnly
    const errors = Promise.all(
      Array.from({ length: calls }, (_, index) =>
        provider.lock({ ...job, name: `job ${index}` }).catch((error: unknown) => error),
      ),
    )
    await jest.advanceTimersByTimeAsync(2)
    expect(pool.opened).toBe(calls + Math.min(calls, 6))
    await jest.advanceTimersByTimeAsync(6 * SECOND)
    for (const error of await errors) expect(error).toMatchObject({ code: 'DATABASE_ERROR' })
    expect(pool.ended).toBeLessThanOrEqual(most)
    expect(pool.opened - pool.released).toBe(pool.ended)
  })

  it('are replaced at once while only the pool is out of date, and again after a write', async () => {
    let stale = 0
    pool.write = () => (stale-- > 0 ? readOnly() : answered())
    for (const ended of [3, 6, 9]) {
      stale = 3
      const locked = provider.lock(job)
      await jest.advanceTimersByTimeAsync(20)
      expect(await locked).toBeDefined()
      expect(pool).toMatchObject({ ended, left: 0 })
    }
  })

  it.each([silent, once(failed('SQLITE_BUSY', 'busy'), silent)])(
    'are given up at most twice by one call: %#',
    async (write) => {
      const lock = await provider.lock(job)
      // Those that could not be opened do not count.
      Object.assign(pool, refusing('ECONNREFUSED'))
      await failing(provider.lock(job))
      await failing(provider.lock(job))
      Object.assign(pool, { opening: opened, write })
      expect(await failing(Promise.resolve(lock?.unlock()))).toMatchObject({ code: 'TIMEOUT' })
      expect(pool.ended).toBe(2)
    },
  )

  it('are used by ten calls at once, so that those that have begun come to an end, and the app waits for few', async () => {
    let most = 0
    pool.write = () => {
      most = Math.max(most, pool.opened - pool.released)
      return after(SECOND, { rows: [], changed: 1 })
    }
    const locks = Array.from({ length: 30 }, (_, each) => provider.lock({ ...job, name: `job ${each}` }))
    // One that is given up before its turn has none to leave.
    const hasty = new SqlLockProvider(pool, writingFirst, { timeLimit: '500ms' }).lock(job)
    const refused = expect(hasty).rejects.toMatchObject({ code: 'TIMEOUT' })
    const turns: number[] = []
    locks.forEach((lock, each) => void lock.then(() => turns.push(each)))
    for (const lock of await settle(Promise.all(locks), 4 * SECOND)) expect(lock).toBeDefined()
    expect(turns).toEqual(locks.map((_, each) => each))
    expect(most).toBe(10)
    await refused
    // Those that nobody waits for any more leave their turns to others.
    neverEnd()
    pool.write = silent
    const failures = Array.from({ length: 30 }, (_, each) =>
      failing(provider.lock({ ...job, name: `silent ${each}` })),
    )
    for (const failure of await Promise.all(failures)) expect(failure).toMatchObject({ code: 'TIMEOUT' })
    pool.write = answered
    expect(await settle(provider.lock({ ...job, name: 'next' }), SECOND)).toBeDefined()
  })

  it('that wait behind one row are ended again once that row was written, and otherwise after minutes', async () => {
    const endedBy = async (lock: Lock | undefined, extensions: number) => {
      pool.write = silent
      pool.ended = 0
      for (let time = 0; time < extensions; time++) await failing(Promise.resolve(lock?.extend('2h')))
      pool.write = answered
      return pool.ended
    }
    const lock = await provider.lock(job)
    const another = await provider.lock({ ...job, name: 'another' })
    const third = await provider.lock({ ...job, name: 'third' })
    expect(await endedBy(lock, 6)).toBe(10)
    expect(await endedBy(another, 6)).toBe(10)
    expect(await endedBy(third, 1)).toBe(0)
    await jest.advanceTimersByTimeAsync(600 * SECOND)
    expect(await endedBy(third, 2)).toBe(2)
    await third?.unlock()
    expect(await endedBy(lock, 1)).toBe(0)
    pool.write = changing(0)
    expect(await failing(provider.lock(job))).toMatchObject({ code: 'TIMEOUT' })
    expect(await endedBy(lock, 1)).toBe(0)
    await lock?.extend('1h')
    expect(await endedBy(lock, 1)).toBe(2)
  })

  it('are ended again once a row was acquired by a statement that returns its outcome', async () => {
    const dialect: Dialect = {
      ...writingFirst,
      acquire: () => [{ answer: 'outcome', statement: sql`select 'acquired' as outcome` }],
    }
    const byOutcome = new SqlLockProvider(pool, dialect)
    const lock = await byOutcome.lock(job)
    pool.write = silent
    for (let time = 0; time < 6; time++) await failing(Promise.resolve(lock?.extend('2h')))
    expect(pool.ended).toBe(10)
    await byOutcome.lock(job)
    await failing(Promise.resolve(lock?.extend('2h')))
    expect(pool.ended).toBe(12)
  })

  const after = <T>(milliseconds: number, value: T) =>
    new Promise<T>((resolve) => setTimeout(() => resolve(value), milliseconds))

  it.each([
    ['are not ended', 'is answered', () => after(100, { rows: [], changed: 1 }), 0],
    ['are ended', 'is not answered either', silent, 2],
  ])('%s if their statement had only a moment, and %s', async (_, __, write, ended) => {
    const impatient = new SqlLockProvider(pool, writingFirst, { timeLimit: '1s' })
    const lock = await impatient.lock(job)
    // Each of the two attempts waits for a connection for most of its time.
    pool.opening = () => after(450, undefined)
    pool.write = write
    await failing(Promise.resolve(lock?.extend('2h')), SECOND)
    await jest.advanceTimersByTimeAsync(SECOND)
    expect(pool.ended).toBe(ended)
  })

  it('are kept if the server ends each wait after a second, however many calls wait for their turn', async () => {
    const locks: (Lock | undefined)[] = []
    for (let each = 0; each < 20; each++) locks.push(await provider.lock({ ...job, name: `job ${each}` }))
    let underWay = 0
    pool.write = async () => {
      underWay++
      await after(SECOND, undefined)
      underWay--
      return failed('SQLITE_BUSY', 'busy')()
    }
    const extend = () => Promise.allSettled(locks.flatMap((lock) => lock?.extend('2h') ?? []))
    const answers = extend()
    await jest.advanceTimersByTimeAsync(SECOND / 2)
    expect(underWay).toBe(10)
    await jest.advanceTimersByTimeAsync(SECOND)
    // The others are the app's.
    expect(underWay).toBe(5)
    for (const answer of await settle(answers, 5 * SECOND))
      expect(answer).toMatchObject({ reason: { code: 'TIMEOUT' } })
    expect(pool.ended).toBe(0)
    pool.write = () => after(SECOND, { rows: [], changed: 1 })
    for (const { status } of await settle(extend(), 4 * SECOND)) expect(status).toBe('fulfilled')
  })

  it('are ended at most twenty times by all providers of one client, whatever their number', async () => {
    const app = {}
    const providers = Array.from({ length: 60 }, (_, index) => {
      const client: SqlClient = { pool: app, connect: () => pool.connect() }
      return new SqlLockProvider(client, writingFirst, {
        tableName: index % 2 === 0 ? 'shedlock' : 'SHEDLOCK',
      })
    })
    pool.write = silent
    const lock = (each: SqlLockProvider, index: number) => each.lock({ ...job, name: `job ${index}` })
    // Ten of them have their turn.
    for (const ended of [10, 20, 20]) {
      const answers = await settle(Promise.allSettled(providers.map(lock)), 6 * SECOND)
      for (const answer of answers) expect(answer).toMatchObject({ reason: { code: 'TIMEOUT' } })
      expect(pool.ended).toBe(ended)
      // That reads are answered says nothing of writes.
      await settle(Promise.all(providers.slice(0, 1).map((each) => each.table.list())))
    }
    await settle(Promise.all(providers.map((each) => each.drain(0))))
  })

  it('are ended ten times for a row, and a row of the same name in another table has ten of its own', async () => {
    await new SqlLockProvider(world.network, writingFirst, { tableName: 'other' }).table.create()
    const rows = ['shedlock', 'other'].map(
      (tableName) => new SqlLockProvider(pool, writingFirst, { tableName }),
    )
    pool.write = silent
    for (let calls = 0; calls < 12; calls++) for (const each of rows) await failing(each.lock(job))
    expect(pool.ended).toBe(20)
    await settle(Promise.all(rows.map((each) => each.drain(0))))
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
    neverEnd()
    pool.write = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20 * SECOND))
      return answer === 'success' ? answered() : drivenOut()
    }
    expect(await failing(provider.lock(job))).toMatchObject({ code: 'TIMEOUT' })
    expect(pool.opened - pool.released).toBeGreaterThan(0)
    // Statements of the release in the background are answered at once: only late answers are waited for.
    pool.write = answered
    await jest.advanceTimersByTimeAsync(60 * SECOND)
    expect(pool.opened - pool.released).toBe(0)
  })

  it('go back if they arrive too late, and nothing is sent', async () => {
    pool.opening = () => new Promise((resolve) => setTimeout(resolve, 6 * SECOND))
    expect(await failing(provider.lock(job))).toMatchObject({ code: 'TIMEOUT' })
    await jest.advanceTimersByTimeAsync(30 * SECOND)
    expect(pool).toMatchObject({ opened: 1, sent: 0, released: 1, ended: 0 })
  })

  const UNTIL_IT_IS_FREE = [
    2, 2, 2, 2, 2, 2, 3, 3, 4, 6, 7, 9, 11, 14, 18, 23, 29, 36, 45, 56, 71, 88, 111, 138, 173, 216, 271, 338,
    423, 500, 500,
  ]
  const TEN = Array<number>(10).fill(0)
  const busyAfter = async (milliseconds: number) => {
    await new Promise((resolve) => setTimeout(resolve, milliseconds))
    return failed('SQLITE_BUSY', 'busy')()
  }

  it.each([
    ['busy', '5s', { write: failed('SQLITE_BUSY', 'busy') }, [...TEN, ...UNTIL_IT_IS_FREE]],
    ['busy after 1 ms', '5s', { write: () => busyAfter(1) }, [1, 1, 1, 3, 3]],
    ['away', '5s', refusing('ECONNREFUSED'), [2, 4, 8, 100, 200, 400, 800, 1_000]],
    ['silent', '5s', { write: silent }, [2_502]],
    ['silent', '300ms', { write: silent }, [202]],
  ])('are asked for again with pauses if the database is %s, for %s', async (_, timeLimit, fault, pauses) => {
    jest.spyOn(Math, 'random').mockReturnValue(1)
    provider = new SqlLockProvider(pool, writingFirst, { timeLimit })
    const lock = await provider.lock(job)
    const times: number[] = []
    Object.assign(pool, fault)
    const { opening } = pool
    pool.opening = () => {
      times.push(performance.now())
      return opening()
    }
    await failing(Promise.resolve(lock?.unlock()))
    const seen = times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0)))
    expect(seen.slice(0, pauses.length)).toEqual(pauses)
  })

  const SILENT = /not answer .* lock 'job' within 5000 ms – check whether/
  const BUSY = /too busy .* lock 'job' within 5000 ms: .* – check whether its table is locked/
  const UNSENT = /^The connection to the database failed, before .* lock 'job' was sent: ECONNREFUSED$/
  const UNANSWERED = /lock 'job' without an answer of the database: Query read timeout$/
  const NO_WRITES = /not accept writes, .* lock 'job'.*: (no \(error STANDBY\)|the server is read-only \()/
  const isReadOnly = { read: { rows: [{ read_only: 1 }] } }
  const unprepared = failed('NOT_PREPARED', 'unprepared')
  const READ_ONLY = 'the server is read-only'
  const LOST_RACE = 'LostRace: another session was faster'

  it.each([
    [{ write: silent }, 'TIMEOUT', SILENT, 'no answer within 5000 ms'],
    [refusing('pool timeout'), 'TIMEOUT', SILENT, 'DriverError: pool timeout'],
    [refusing('ECONNREFUSED'), 'DATABASE_ERROR', UNSENT, 'ECONNREFUSED'],
    [
      refusing('timeout: connect ECONNREFUSED'),
      'DATABASE_ERROR',
      /sent: timeout: connect EC/,
      'ECONNREFUSED',
    ],
    [refusing('full', 'SQLITE_BUSY'), 'TIMEOUT', BUSY, 'full'],
    [{ write: changing(0) }, 'TIMEOUT', BUSY, LOST_RACE],
    [{ write: unprepared }, 'TIMEOUT', BUSY, 'unprepared'],
    [{ write: drivenOut }, 'DATABASE_ERROR', UNANSWERED, 'Query read timeout'],
    [{ write: once(changing(0), drivenOut) }, 'DATABASE_ERROR', UNANSWERED, 'Query read timeout'],
    [{ write: failed('STANDBY', 'no') }, 'DATABASE_ERROR', NO_WRITES, 'no'],
    [isReadOnly, 'DATABASE_ERROR', NO_WRITES, READ_ONLY],
    [{ write: drivenOut, unusable: destroyed }, 'INVALID_CLIENT', /^destroyed$/, 'destroyed'],
    [{ ...refusing('closed'), unusable: destroyed }, 'INVALID_CLIENT', /^destroyed$/, 'destroyed'],
    [{ write: changing(undefined) }, 'INVALID_CLIENT', /does not report how many rows/, 'undefined'],
  ] as const)('fail an acquisition with %s as %s', async (fault, code, message, cause) => {
    Object.assign(pool, fault)
    const error = await failing(provider.lock({ ...job, slot: 1 }), 5 * SECOND)
    expect(error).toMatchObject({ code, lockName: 'job', message: expect.stringMatching(message) })
    expect(String((error as LockError).cause)).toMatch(cause)
  })

  it('send a release after an acquisition whose rows the client did not count, because it may have acquired the row', async () => {
    pool.write = changing(undefined)
    await expect(provider.lock(job)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
    const { sent } = pool
    await settle(provider.drain(SECOND), 2 * SECOND)
    expect(pool.sent).toBeGreaterThan(sent)
  })
})

const postgres = availableBackends('postgres')

describeBackends(postgres)('a connection that a pooler keeps, on $name', (backend) => {
  itIf(hasPgBouncer, 'pgbouncer')('is ended if its server accepts no write, and locks go on', async () => {
    const { database, dataSource: direct } = await openDatabase(backend, migrated())
    const pooler = await startPgBouncer(database.url)
    afterTest(() => pooler.stop())
    const link = await TcpProxy.listen(Number(new URL(pooler.url).port))
    afterTest(() => link.close())
    // Without a network in between, the pooler sees the end before the answer, and then ends its connection by itself.
    link.slowDown(20)
    const { database: name } = database.typeOrm as { database: string }
    await direct.query(`alter database "${name}" set default_transaction_read_only = on`)
    const { href: url } = Object.assign(new URL(pooler.url), { port: String(link.port) })
    const dataSource = await new DataSource({ type: 'postgres', url }).initialize()
    afterTest(() => dataSource.destroy())
    const readOnly = () => dataSource.query("select current_setting('transaction_read_only') as value")
    expect(await readOnly()).toEqual([{ value: 'on' }])
    await direct.query(`alter database "${name}" reset default_transaction_read_only`)
    expect(await typeOrmLockProvider(dataSource).lock(job)).toBeDefined()
    expect(await readOnly()).toEqual([{ value: 'off' }])
  })
})
