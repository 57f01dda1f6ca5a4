import { DataSource } from 'typeorm'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { LockingTaskExecutor, type LockProvider } from '../../src/core'
import { typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { observeLockTable } from '../conformance/lock-table-observer'
import { promiseWithResolvers } from '../promise-with-resolvers'

const backends = availableBackends().filter(({ shared }) => shared)

describeBackends(backends)('a slot on $name', (backend) => {
  let database: TestDatabase
  let dataSource: DataSource
  let table: ReturnType<typeof observeLockTable>

  beforeAll(async () => {
    database = await backend.create()
    dataSource = await new DataSource(database.typeOrm).initialize()
    table = observeLockTable(dataSource, backend.dialect)
    await table.createTable()
  })
  afterAll(async () => {
    await dataSource.destroy()
    await database.drop()
  })

  it('is given back when its task did not run, and tokens grow all the same', async () => {
    const provider = typeOrmLockProvider(dataSource)
    const gate = promiseWithResolvers()
    const slow: LockProvider = {
      lock: async (...question) => {
        const lock = await provider.lock(...question)
        await gate.promise
        return lock
      },
    }
    const job = { name: 'stopped', lockAtMostFor: '10m', slot: Date.now() }
    await (await provider.lock({ ...job, slot: job.slot - 1 }))?.unlock()
    const executor = new LockingTaskExecutor(slow)
    const skipped = executor.executeWithLock(job, () => 1)
    const stopped = executor.shutdown()
    gate.resolve()
    expect(await skipped).toEqual({ executed: false, reason: 'shutdown' })
    await stopped
    expect((await table.findRow('stopped'))?.lockedAt).toBe(job.slot - 1)
    expect(await (await provider.lock(job))?.fencingToken()).toBe(job.slot)
  })

  it('may be as far ahead as the option says', async () => {
    const provider = typeOrmLockProvider(dataSource, { slotAtMostAhead: '10m' })
    const ahead = { name: 'ahead', lockAtMostFor: '10m', slot: Date.now() + 16 * 60_000 }
    await expect(provider.lock(ahead)).rejects.toMatchObject({
      code: 'INVALID_CONFIGURATION',
      lockName: 'ahead',
      message: expect.stringContaining(`${new Date(ahead.slot).toISOString()}, is more than 600000 ms`),
    })
    expect(await table.findRow('ahead')).toBeUndefined()
    expect(await provider.lock({ ...ahead, slot: ahead.slot - 11 * 60_000 })).toBeDefined()
    // Nobody has to know more of a lock that is held.
    expect(await provider.lock(ahead)).toBeUndefined()
  })

  it('has a limit that is a duration', () => {
    const invalid = expect.objectContaining({ code: 'INVALID_CONFIGURATION' })
    expect(() => typeOrmLockProvider(dataSource, { slotAtMostAhead: 'soon' })).toThrow(invalid)
  })
})
