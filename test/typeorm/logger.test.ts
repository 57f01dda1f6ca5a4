import type { DataSource, Logger } from 'typeorm'
import { beforeEach, expect, it, jest } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase, type OpenDatabase } from '../backends/open-database'

const job = { name: 'job', lockAtMostFor: '1h' }
const backends = availableBackends().filter(({ name }) => ['postgres', 'mariadb', 'mysql'].includes(name))

describeBackends(backends)("TypeORM's logger on $name", (backend) => {
  let opened: OpenDatabase
  /** What the logger is called with. */
  let calls: [method: string, isSlow: boolean, queryRunner: unknown][]

  beforeEach(async () => {
    opened = await openDatabase(backend)
    await typeOrmLockProvider(opened.dataSource).table.create()
    calls = []
  })

  function connect(maxQueryExecutionTime: number): Promise<DataSource> {
    const note =
      (method: string) =>
      (...all: unknown[]): void => {
        calls.push([method, typeof all[0] === 'number', all.at(-1)])
        // Loggers read the connection from the query runner.
        expect(all.at(-1)).toHaveProperty('connect')
      }
    const logger: Logger = {
      logQuery: note('logQuery'),
      logQueryError: note('logQueryError'),
      logQuerySlow: note('logQuerySlow'),
      logSchemaBuild: () => undefined,
      logMigration: () => undefined,
      log: () => undefined,
    }
    return opened.connect({ logger, logging: true, maxQueryExecutionTime })
  }

  it('gets the query runner of each statement', async () => {
    const provider = typeOrmLockProvider(await connect(3_600_000))
    calls = []
    await (await provider.lock(job))?.unlock()
    expect(calls.filter(([method]) => method === 'logQuery').length).toBeGreaterThan(1)
    expect(calls.filter(([method]) => method !== 'logQuery')).toEqual([])
  })

  it('logs a statement that took long', async () => {
    const dataSource = await connect(1)
    const provider = typeOrmLockProvider(dataSource)
    await (await provider.lock(job))?.unlock()
    const blocked = opened.dataSource.createQueryRunner()
    await blocked.startTransaction()
    await blocked.query("update shedlock set locked_by = locked_by where name = 'job'")
    calls = []
    const locking = provider.lock(job)
    await opened.dataSource.query(
      backend.dialect === 'postgres' ? 'select pg_sleep(0.1)' : 'select sleep(0.1)',
    )
    await blocked.commitTransaction()
    await blocked.release()
    await (await locking)?.unlock()
    expect(calls).toContainEqual(['logQuerySlow', true, expect.anything()])
  })

  it.each([
    ['receive each statement', () => undefined],
    [
      'lose no lock if they throw',
      () => {
        throw new Error('the collector is down')
      },
    ],
    ['hold up no lock', () => new Promise<never>(() => undefined)],
  ])('leaves it to subscribers, who %s', async (_, answer) => {
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
    const dataSource = await opened.connect({})
    const provider = typeOrmLockProvider(dataSource)
    // Check the table first: TypeORM itself sends that statement.
    await (await provider.lock(job))?.unlock()
    const heard: string[] = []
    const events: { executionTime: number }[] = []
    const note = (what: string) => (event: unknown) => {
      heard.push(what)
      if (what === 'after') events.push(event as { executionTime: number })
      return answer()
    }
    dataSource.subscribers.push({ beforeQuery: note('before'), afterQuery: note('after') })
    const lock = await provider.lock(job)
    expect(lock).toBeDefined()
    expect(heard.slice(0, 2)).toEqual(['before', 'after'])
    expect(events[0]).toMatchObject({ success: true, rawResults: [] })
    expect(events[0]?.executionTime).toBeLessThan(3_600_000)
    await lock?.unlock()
    warning.mockRestore()
  })

  it('gets the error of a statement that failed, and subscribers as well', async () => {
    const dataSource = await connect(3_600_000)
    const provider = typeOrmLockProvider(dataSource)
    await (await provider.lock(job))?.unlock()
    const events: unknown[] = []
    const afterQuery = (event: unknown): void => {
      events.push(event)
    }
    dataSource.subscribers.push({ afterQuery })
    await opened.dataSource.query('drop table shedlock')
    await expect(provider.lock(job)).rejects.toMatchObject({ code: 'TABLE_MISSING' })
    expect(calls).toContainEqual(['logQueryError', false, expect.anything()])
    const [{ executionTime, ...event }] = events as [{ executionTime: number }]
    expect(event).toMatchObject({ success: false, error: expect.any(Error) })
    expect(executionTime).toBeLessThan(3_600_000)
  })

  /** Lets all connections of a pool refuse to prepare a statement, once each of them was asked to. */
  async function refuseToPrepare(dataSource: DataSource, poolSize: number): Promise<void> {
    const refusal = Object.assign(new Error('refused'), { errno: 1461, code: '26000' })
    const asked: ((error: Error) => void)[] = []
    const ask = (refuse: (error: Error) => void): void => {
      asked.push(refuse)
      if (asked.length === poolSize) for (const each of asked) each(refusal)
    }
    const queryRunners = Array.from({ length: poolSize }, () => dataSource.createQueryRunner())
    for (const queryRunner of queryRunners) {
      const client = (await queryRunner.connect()) as Record<string, unknown>
      client['execute'] = (_: unknown, __: unknown, done: (error: Error) => void) => ask(done)
      if (backend.dialect === 'postgres') client['query'] = () => new Promise((_, reject) => ask(reject))
    }
    for (const queryRunner of queryRunners) await queryRunner.release()
  }

  it('is warned once of statements that could not be prepared, and loses no lock if it throws', async () => {
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
    const dataSource = await opened.connect({ poolSize: 2 })
    const provider = typeOrmLockProvider(dataSource)
    await (await provider.lock(job))?.unlock()
    const failure = new Error('the disk is full')
    const log = jest.fn(() => {
      throw failure
    })
    Object.assign(dataSource, { logger: { logQuery: () => undefined, log } })
    await refuseToPrepare(dataSource, 2)
    const locks = await Promise.all([provider.lock(job), provider.lock({ ...job, name: 'another' })])
    for (const lock of locks) {
      expect(lock).toBeDefined()
      await lock?.unlock()
    }
    expect(log).toHaveBeenCalledTimes(1)
    expect(warning.mock.calls).toEqual([[failure]])
    warning.mockRestore()
  })

  it.each([
    ['subscribers but no broadcaster', { subscribers: [{}] }, {}],
    [
      'a broadcaster but no subscribers',
      {},
      { broadcaster: { broadcast: () => Promise.reject(new Error()) } },
    ],
  ])('may be missing, where a DataSource has %s', async (_, rest, ofQueryRunner) => {
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
    const dataSource = await opened.connect({ poolSize: 1 })
    const provider = typeOrmLockProvider({
      isInitialized: true,
      // Each statement takes longer.
      options: { type: backend.dialect, maxQueryExecutionTime: -1 },
      driver: dataSource.driver,
      createQueryRunner: () => {
        const queryRunner = dataSource.createQueryRunner()
        return {
          connect: () => queryRunner.connect(),
          query: (text, values) => queryRunner.query(text, values, true),
          release: () => queryRunner.release(),
          ...ofQueryRunner,
        }
      },
      ...rest,
    })
    await (await provider.lock(job))?.unlock()
    await opened.dataSource.query('alter table shedlock rename to moved')
    await expect(provider.lock(job)).rejects.toMatchObject({ code: 'TABLE_MISSING' })
    await opened.dataSource.query('alter table moved rename to shedlock')
    await (await provider.lock(job))?.unlock()
    await refuseToPrepare(dataSource, 1)
    expect(await provider.lock(job)).toBeDefined()
    expect(warning.mock.calls).toEqual([])
    warning.mockRestore()
  })

  it('loses no lock if it throws', async () => {
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
    const dataSource = await opened.connect()
    const provider = typeOrmLockProvider(dataSource)
    // Check the table first: TypeORM itself sends that statement.
    await (await provider.lock(job))?.unlock()
    const logQuery = (): never => {
      throw new Error('the disk is full')
    }
    Object.assign(dataSource, { logger: { logQuery } })
    await (await provider.lock(job))?.unlock()
    expect(await provider.lock(job)).toBeDefined()
    expect(warning).toHaveBeenCalled()
    warning.mockRestore()
  })
})
