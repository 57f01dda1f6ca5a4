import { expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { shedLockEntity } from '../../src/typeorm/entity'
import { guard } from '../../src/typeorm/guard'
import { createShedLockMigration } from '../../src/typeorm/migration'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { conformanceBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { lockError } from '../lock-error'

const backends = conformanceBackends().filter(({ name }) => name === 'sqlite3')
const job = { name: 'job', lockAtMostFor: '10m' }

describeBackends(backends)("TypeORM's type sqlite, on $name", (backend) => {
  it('creates the table by its migration, and finds nothing to change in it with the entity', async () => {
    const { dataSource } = await openDatabase(backend, {
      ...migrated(),
      entities: [shedLockEntity({ dialect: 'sqlite' })],
    })
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log()
    expect(upQueries).toEqual([])
    expect(await typeOrmLockProvider(dataSource).table.check()).toEqual([])
    const migration = new (createShedLockMigration())()
    await migration.down(dataSource.createQueryRunner())
    expect(await dataSource.createQueryRunner().hasTable('shedlock')).toBe(false)
  })

  it('guards a transaction, whose rollback leaves the lock alone', async () => {
    const { dataSource } = await openDatabase(backend, { ...migrated(), enableWAL: true })
    const provider = typeOrmLockProvider(dataSource)
    await new LockingTaskExecutor(provider).executeWithLock(job, async () => {
      await dataSource.transaction((manager) => guard(manager))
      const undone = dataSource.transaction(async (manager) => {
        await guard(manager)
        throw new Error('undo')
      })
      await expect(undone).rejects.toThrow('undo')
      expect(await provider.lock(job)).toBeUndefined()
      await dataSource.query("update shedlock set lock_until = '2000-01-01 00:00:00.000'")
      const late = dataSource.transaction((manager) => guard(manager))
      await expect(late).rejects.toEqual(lockError('LOCK_LOST', /roll it back/))
    })
  })

  it('does not keep a thread busy while the app writes', async () => {
    const { dataSource } = await openDatabase(backend, migrated())
    const provider = typeOrmLockProvider(dataSource, { timeLimit: '300ms' })
    const writer = dataSource.createQueryRunner()
    await writer.startTransaction()
    await writer.query("insert into shedlock values ('other', '2000', '2000', 'x')")
    const attempts = Array.from({ length: 8 }, (_, index) => provider.lock({ ...job, name: `job ${index}` }))
    const refused = await Promise.allSettled(attempts)
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 'rejected'))
    await writer.commitTransaction()
    expect(await provider.lock(job)).toBeDefined()
  })
})
