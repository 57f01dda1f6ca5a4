import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { openDatabase } from '../backends/open-database'
import { observeLockTable } from '../conformance/lock-table-observer'
import { createAppTables } from '../conformance/sql-environment'
import { ADAPTERS } from '../prisma/adapters'
import { eventually } from '../eventually'
import { program } from './program'
import type { Order } from './worker'

const RUNS = 50
const worker = program(join(__dirname, 'worker.ts'))

describeBackends(availableBackends().filter(({ shared }) => shared))('processes on $name', (backend) => {
  let database: TestDatabase
  let observer: DataSource
  let table: ReturnType<typeof observeLockTable>

  beforeEach(async () => {
    ;({ database, dataSource: observer } = await openDatabase(backend))
    table = observeLockTable(observer, backend.dialect)
    await table.createTable()
    await createAppTables(observer)
    await observer.query(`insert into counter (id, value) values ('job', 0)`)
  })

  const start = async (rest: Pick<Order, 'lockAtMostFor' | 'runs' | 'prisma'>): Promise<ChildProcess> => {
    const order: Order = { typeOrm: database.typeOrm, dialect: backend.dialect, name: 'job', ...rest }
    const child = fork(worker, [JSON.stringify(order)])
    afterTest(() => child.kill('SIGKILL'))
    await once(child, 'message')
    return child
  }

  /** Oracle calls the column VALUE. */
  const counted = async (): Promise<number[]> =>
    (await observer.query<object[]>('select value from counter')).map((row) => Number(Object.values(row)[0]))

  const adapters = ADAPTERS.filter((adapter) => adapter.backend === backend.name)
  it.each([
    { orms: 'TypeORM', adapter: undefined },
    ...adapters.map(({ name }) => ({ orms: `TypeORM and Prisma by ${name}`, adapter: name })),
  ])(
    'never lose an update of a counter in the database that they change under one lock, with $orms',
    async ({ adapter }) => {
      const other =
        adapter === undefined ? {} : { prisma: { adapter, backend: backend.name, url: database.url } }
      const workers = await Promise.all(
        [{}, {}, other, other].map((orm) => start({ lockAtMostFor: '5m', runs: RUNS, ...orm })),
      )
      const ended = workers.map((child) => once(child, 'exit'))
      for (const child of workers) child.send('go')
      expect(await Promise.all(ended)).toEqual(workers.map(() => [0, null]))
      expect(await counted()).toEqual([workers.length * RUNS])
    },
  )

  it('take over from one that was killed, when its lease is over', async () => {
    const holder = await start({ lockAtMostFor: '2s', runs: 0 })
    holder.send('go')
    await once(holder, 'message')
    const row = await table.findRow('job')
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    const provider = typeOrmLockProvider(observer)
    const lock = await eventually(
      async () => {
        const taken = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
        return taken ?? Promise.reject(new Error('The lease is not over.'))
      },
      { interval: 5 },
    )
    const successor = await table.findRow('job')
    expect(successor?.lockedAt).toBeGreaterThanOrEqual(row?.lockUntil ?? NaN)
    await lock.unlock()
  })
})
