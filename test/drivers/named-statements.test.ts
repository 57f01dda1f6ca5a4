import assert from 'node:assert/strict'
import type { DataSource } from 'typeorm'
import { beforeEach, expect, it, jest } from '@jest/globals'
import type { Lock } from '../../src/core/lock'
import { MOST_PREPARED, nameOn, Preparation } from '../../src/drivers/statement-names'
import { raw } from '../../src/sql/sql'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { hasPgBouncer, hasPreparingPgBouncer, startPgBouncer } from '../backends/pgbouncer'
import { address } from '../backends/server'
import { everyClient, type OpenClient } from '../conformance/every-client'
import { everyQuestion } from '../conformance/every-question'
import { createLockTable, observeLockTable } from '../conformance/lock-table-observer'
import { itIf } from '../it-if'

const job = { name: 'job', lockAtMostFor: '10m' }
const REFUSED = expect.stringMatching(
  /shedlock-orm sends its statements unprepared from now on, because one could not be prepared: /,
)
let warn: jest.SpiedFunction<typeof process.emitWarning>
const warnings = () => warn.mock.calls.map(([warning]) => warning)

beforeEach(() => {
  warn = jest.spyOn(process, 'emitWarning').mockReturnValue()
})

it('a connection keeps a limited number of names, and a client none after the first refusal', () => {
  const connection = {}
  const names = Array.from({ length: MOST_PREPARED + 1 }, (_, each) => nameOn(connection, `select ${each}`))
  expect(new Set(names.slice(0, -1)).size).toBe(MOST_PREPARED)
  expect([names.at(-1), nameOn(connection, 'select 0')]).toEqual([undefined, names[0]])
  const preparation = new Preparation(true)
  for (const name of ['one', 'two'])
    expect(preparation.errorOf(new Error(`prepared statement "${name}" does not exist`))).toEqual(
      expect.objectContaining({ code: 'NOT_PREPARED' }),
    )
  expect(preparation.isOn).toBe(false)
  expect(warnings()).toEqual([REFUSED])
})

const clients = everyClient().filter(({ backend, orm }) => backend === 'postgres' && orm === 'TypeORM')

describeBackends(clients)('the named statements of $title', (each) => {
  let client: OpenClient

  const open = () => each.open({}, { poolSize: 1 })
  const prepared = async ({ executor } = client): Promise<unknown[]> => {
    const rows = await executor.query(raw('select name from pg_prepared_statements order by name'), {})
    return rows.map(({ name }) => name)
  }

  beforeEach(async () => {
    client = await open()
  })

  it('are prepared once for each kind of statement of a lock, also after the table has changed', async () => {
    const provider = client.createProvider()
    await everyQuestion(provider, client.table)
    const names = await prepared()
    expect(names.length).toBeGreaterThanOrEqual(5)
    for (const name of names) expect(name).toMatch(/^shedlock_[0-9a-f]{16}$/)
    for (const change of [
      'alter table shedlock alter locked_by type text, alter lock_until type timestamp',
      'alter table shedlock add column more int',
      'analyze shedlock',
    ]) {
      await client.observer.query(change)
      await everyQuestion(provider, client.table)
    }
    expect(await prepared()).toEqual(names)
    expect(warnings()).toEqual([])
  })

  it('stop being named at a limit for each connection, for example with a table for each tenant', async () => {
    for (let tenant = 0; tenant < 12; tenant++) {
      const tableName = `tenant_${tenant}`
      const ofTenant = await createLockTable(client.observer, each.dialect, { tableName })
      await everyQuestion(client.createProvider({ tableName }), ofTenant)
    }
    const { length } = await prepared()
    expect(length).toBe(MOST_PREPARED)
    const another = await open()
    await (await another.createProvider().lock(job))?.unlock()
    expect(await prepared(another)).toHaveLength(3)
    expect(warnings()).toEqual([])
  })

  const FORGOTTEN: [string, string, (lock: Lock) => Promise<unknown>][] = [
    ['extension', 'deallocate all', (lock) => lock.extend('20m')],
    ['token', 'deallocate all', (lock) => lock.fencingToken()],
    ['release', 'discard all', () => Promise.resolve()],
  ]
  it.each(FORGOTTEN)(
    'are sent without names when that of an %s is forgotten by %s, and one warning is given',
    async (_, statement, question) => {
      const provider = client.createProvider()
      await everyQuestion(provider, client.table)
      const lock = await provider.lock(job)
      assert(lock)
      await client.app(statement)
      await question(lock)
      await lock.unlock()
      await everyQuestion(provider, client.table)
      expect(warnings()).toEqual([REFUSED])
      expect(await prepared()).toEqual([])
    },
  )
})

describeBackends(availableBackends('postgres'))('the statements of TypeORM on $name', (backend) => {
  it('have no names with namedStatements: false, nor where a connection shows nothing of pg, such as that of Aurora', async () => {
    const { dataSource } = await openDatabase(backend, { ...migrated(), poolSize: 1 })
    const createQueryRunner = () => {
      const queryRunner = dataSource.createQueryRunner()
      return {
        connect: () => Promise.resolve(undefined),
        query: queryRunner.query.bind(queryRunner),
        release: queryRunner.release.bind(queryRunner),
      }
    }
    const aurora = Object.assign(Object.create(dataSource) as DataSource, { createQueryRunner })
    const table = observeLockTable(dataSource, backend.dialect)
    await everyQuestion(typeOrmLockProvider(dataSource, { namedStatements: false, ownConnections: 0 }), table)
    await everyQuestion(typeOrmLockProvider(aurora, { ownConnections: 0 }), table)
    expect(await dataSource.query('select name from pg_prepared_statements')).toEqual([])
    expect(() => typeOrmLockProvider(dataSource, { namedStatements: 'no' as never })).toThrow(
      'namedStatements must be true or false',
    )
  })

  /** Two processes and many locks at a time, so that each connection of a client meets many of the server. */
  const crowd = async (pools: readonly DataSource[]): Promise<void> => {
    const providers = pools.map((pool) => typeOrmLockProvider(pool))
    for (let round = 0; round < 5; round++) {
      const won = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const lock = await providers[index % 2]?.lock({ ...job, name: `job ${index % 4}` })
          await lock?.extend('20m')
          return lock
        }),
      )
      const locks = won.filter((lock) => lock !== undefined)
      expect(locks.map(({ name }) => name).sort()).toEqual(['job 0', 'job 1', 'job 2', 'job 3'])
      for (const lock of locks) await lock.unlock()
    }
  }

  const POOLERS = [
    ['keep their names', { max_prepared_statements: 20 }, 0],
    ['are sent without names', hasPreparingPgBouncer ? { max_prepared_statements: 0 } : {}, 2],
  ] as const
  for (const [title, settings, warned] of POOLERS)
    itIf(hasPgBouncer && (hasPreparingPgBouncer || warned > 0), 'pgbouncer, or 1.21 for names')(
      `${title} behind PgBouncer in transaction mode with ${JSON.stringify(settings)}`,
      async () => {
        const { database, connect } = await openDatabase(backend, migrated())
        const pooler = await startPgBouncer(database.url, { default_pool_size: 2, ...settings })
        afterTest(() => pooler.stop())
        const pools: DataSource[] = []
        while (pools.length < 2) pools.push(await connect({ ...address(pooler.url), poolSize: 3 }))
        await crowd(pools)
        // One of each client.
        expect(warnings()).toEqual(Array(warned).fill(REFUSED))
      },
    )
})
