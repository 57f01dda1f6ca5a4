import type { DataSource, Logger, QueryRunner } from 'typeorm'
import { afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals'
import type { DialectName } from '../../src/sql/dialects'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterFile, afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase, type OpenDatabase } from '../backends/open-database'
import { renameTable } from '../backends/rename-table'

const job = { name: 'job', lockAtMostFor: '1h' }
const thrown = (message: string): never => {
  throw new Error(message)
}
/** Of each driver whose statements are sent past TypeORM. */
const backends = availableBackends().filter(({ name }) => ['postgres', 'mariadb'].includes(name))

/** Lets each update take long. */
const ON_MYSQL = ['create trigger slowly before update on shedlock for each row do sleep(0.05)']
const SLOWLY: Partial<Record<DialectName, readonly string[]>> = {
  postgres: [
    'create function slowly() returns trigger language plpgsql as $$ begin perform pg_sleep(0.05); return new; end $$',
    'create trigger slowly before update on shedlock for each row execute function slowly()',
  ],
  mariadb: ON_MYSQL,
  mysql: ON_MYSQL,
}

describeBackends(backends)("TypeORM's logger on $name", (backend) => {
  let opened: OpenDatabase
  let warning: jest.SpiedFunction<typeof process.emitWarning>

  beforeAll(async () => {
    opened = await openDatabase(backend, {}, afterFile)
    await typeOrmLockProvider(opened.dataSource).table.create()
  })
  beforeEach(() => {
    warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
  })
  afterEach(() => {
    warning.mockRestore()
  })

  const connect = (options: object = {}) => opened.connect(options, afterTest)
  /** TypeORM itself sends the check of the table, so that is over. */
  async function warmProvider(dataSource: Parameters<typeof typeOrmLockProvider>[0]) {
    const provider = typeOrmLockProvider(dataSource)
    await (await provider.lock(job))?.unlock()
    return provider
  }
  /** Locks while the table has another name. */
  async function expectMissing(provider: ReturnType<typeof typeOrmLockProvider>): Promise<void> {
    await opened.dataSource.query(renameTable(backend.dialect, 'shedlock', 'moved'))
    await expect(provider.lock(job)).rejects.toMatchObject({ code: 'TABLE_MISSING' })
    await opened.dataSource.query(renameTable(backend.dialect, 'moved', 'shedlock'))
  }

  function expectEvent(event: unknown, wanted: object): void {
    expect(event).toMatchObject(wanted)
    expect((event as { executionTime: number }).executionTime).toBeLessThan(3_600_000)
  }

  /** @returns what the logger of the DataSource is called with */
  async function logged(maxQueryExecutionTime: number) {
    const calls: [method: string, isSlow: boolean][] = []
    const note =
      (method: string) =>
      (...all: unknown[]): void => {
        // Loggers read the connection from the query runner. TypeORM 0.3.20 passes none before it has connected.
        const { connect } = (all.at(-1) as Partial<QueryRunner> | undefined) ?? {}
        if (connect) calls.push([method, typeof all[0] === 'number'])
      }
    const logger: Logger = {
      logQuery: note('logQuery'),
      logQueryError: note('logQueryError'),
      logQuerySlow: note('logQuerySlow'),
      logSchemaBuild: () => undefined,
      logMigration: () => undefined,
      log: () => undefined,
    }
    return { dataSource: await connect({ logger, logging: true, maxQueryExecutionTime }), calls }
  }

  it('gets the query runner of each statement, and the error of one that failed, as subscribers do', async () => {
    const { dataSource, calls } = await logged(3_600_000)
    const provider = await warmProvider(dataSource)
    expect(calls.filter(([method]) => method === 'logQuery').length).toBeGreaterThan(1)
    expect(calls.filter(([method]) => method !== 'logQuery')).toEqual([])
    const afterQuery = jest.fn<(event: unknown) => void>()
    dataSource.subscribers.push({ afterQuery })
    await expectMissing(provider)
    expect(calls).toContainEqual(['logQueryError', false])
    expectEvent(afterQuery.mock.calls[0]?.[0], { success: false, error: expect.any(Error) })
  })

  it('logs a statement that took long', async () => {
    const { dataSource, calls } = await logged(1)
    const provider = await warmProvider(dataSource)
    for (const statement of SLOWLY[backend.dialect] ?? []) await opened.dataSource.query(statement)
    calls.length = 0
    await (await provider.lock(job))?.unlock()
    await opened.dataSource.query(
      `drop trigger slowly${backend.dialect === 'postgres' ? ' on shedlock' : ''}`,
    )
    expect(calls).toContainEqual(['logQuerySlow', true])
  })

  it.each<[string, () => Promise<never> | undefined]>([
    ['receive each statement', () => undefined],
    ['lose no lock if they throw', () => thrown('the collector is down')],
    ['hold up no lock', () => new Promise<never>(() => undefined)],
  ])('leaves it to subscribers, who %s', async (_, answer) => {
    const dataSource = await connect()
    const provider = await warmProvider(dataSource)
    const beforeQuery = jest.fn(answer)
    const afterQuery = jest.fn<(event: unknown) => ReturnType<typeof answer>>(answer)
    dataSource.subscribers.push({ beforeQuery, afterQuery })
    const lock = await provider.lock(job)
    expect(lock).toBeDefined()
    expect(beforeQuery).toHaveBeenCalled()
    expectEvent(afterQuery.mock.calls[0]?.[0], { success: true, rawResults: expect.any(Array) })
    await lock?.unlock()
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
    const dataSource = await connect({ poolSize: 2 })
    const provider = await warmProvider(dataSource)
    Object.assign(dataSource, { logger: { logQuery: () => thrown('of a query') } })
    await (await provider.lock(job))?.unlock()
    const log = jest.fn(() => thrown('of a warning'))
    // TypeORM's own query does not catch what its logger throws.
    Object.assign(dataSource, { logger: { logQuery: () => undefined, log } })
    await refuseToPrepare(dataSource, 2)
    const locks = await Promise.all([provider.lock(job), provider.lock({ ...job, name: 'another' })])
    for (const lock of locks) {
      expect(lock).toBeDefined()
      await lock?.unlock()
    }
    expect(log).toHaveBeenCalledTimes(1)
    for (const failure of ['of a query', 'of a warning'])
      expect(warning).toHaveBeenCalledWith(new Error(failure))
  })

  it.each([
    ['subscribers but no broadcaster', { subscribers: [{}] }, {}],
    [
      'a broadcaster but no subscribers',
      {},
      { broadcaster: { broadcast: () => Promise.reject(new Error()) } },
    ],
  ])('may be missing, where a DataSource has %s', async (_, rest, ofQueryRunner) => {
    const dataSource = await connect({ poolSize: 1 })
    const provider = await warmProvider({
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
    await expectMissing(provider)
    await (await provider.lock(job))?.unlock()
    await refuseToPrepare(dataSource, 1)
    const lock = await provider.lock(job)
    expect(lock).toBeDefined()
    await lock?.unlock()
    expect(warning.mock.calls).toEqual([])
  })
})
