import { DataSource } from 'typeorm'
import { describe, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import type { DataSourceLike } from '../../src/typeorm/data-source-like'
import { createShedLockMigration } from '../../src/typeorm/migration'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { migrated, useDatabase } from '../backends/open-database'
import { itIf } from '../it-if'
import { lockError } from '../lock-error'

const job = { name: 'job', lockAtMostFor: '10m' }

describe('typeOrmLockProvider', () => {
  const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:' })

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a string', 'postgres://…'],
    ['options of a DataSource', { type: 'postgres' }],
    ['an EntityManager', dataSource.manager],
    ['a mock', { isInitialized: true, createQueryRunner: () => undefined }],
    ['a mock with options', { options: {}, createQueryRunner: () => undefined }],
  ])('refuses %s for a DataSource, and says what a test needs', (_, wrong) => {
    expect(() => typeOrmLockProvider(wrong as DataSourceLike)).toThrow(
      lockError('INVALID_CLIENT', /needs a TypeORM DataSource.*mock, use InMemoryLockProvider/),
    )
  })

  it.each([
    [
      { type: 'mongodb' },
      /type 'mongodb' cannot keep locks – it has no SQL: keep the locks in a SQL database/,
    ],
    [{ type: 'expo' }, /type 'expo' cannot keep locks – .* one device, .*: use InMemoryLockProvider/],
    [{ type: 'constructor' }, /cannot keep locks – supported are postgres, .*, sqlite, .*spanner\.$/],
    [
      { type: 'sqlite', database: ':memory:' },
      /would join the app's transactions – use .* 'better-sqlite3' or a file/,
    ],
  ])('refuses a DataSource with %j, and says what to do', (options, message) => {
    const refused: DataSourceLike = {
      isInitialized: true,
      options,
      driver: {},
      createQueryRunner: () => dataSource.createQueryRunner(),
    }
    expect(() => typeOrmLockProvider(refused)).toThrow(lockError('INVALID_CLIENT', message))
  })

  it('refuses to be a migration without being called', async () => {
    const uncalled = new DataSource({
      type: 'better-sqlite3',
      database: ':memory:',
      migrations: [createShedLockMigration],
    })
    await expect(uncalled.initialize()).rejects.toThrow(
      lockError('INVALID_CONFIGURATION', /call it: migrations: \[createShedLockMigration\(\)\]/),
    )
  })
})

const backends = availableBackends('sqlite', 'postgres', 'mariadb', 'cockroachdb')

describeBackends(backends)('TypeORM on $name', (backend) => {
  const opened = useDatabase(backend, migrated())

  it('creates a provider before the DataSource is initialised, and rejects locks until then', async () => {
    const later = new DataSource(opened.database.typeOrm)
    const provider = typeOrmLockProvider(later)
    const task = jest.fn()
    await expect(new LockingTaskExecutor(provider).executeWithLock(job, task)).rejects.toEqual(
      lockError('INVALID_CLIENT', /not initialised, or was destroyed – await dataSource.initialize\(\)/),
    )
    expect(task).not.toHaveBeenCalled()
    await later.initialize()
    await (await provider.lock(job))?.unlock()
    await later.destroy()
  })

  it('rejects locks that are being acquired while the DataSource is destroyed', async () => {
    const provider = typeOrmLockProvider(opened.dataSource, { timeLimit: '1s' })
    await (await provider.lock(job))?.unlock()
    let isDestroyed = false
    // A busy machine may take longer to close the pool than a lock has time.
    const withReason = (error: unknown): unknown =>
      !isDestroyed && error instanceof LockError && error.code === 'TIMEOUT' ? undefined : error
    // More than the pool has connections.
    const forgotten = Array.from({ length: 30 }, (_, index) =>
      provider.lock({ ...job, name: `job ${index}` }).catch(withReason),
    )
    await opened.dataSource.destroy()
    isDestroyed = true
    // As long as the pool is being closed, mysql2 says so itself.
    const closing = lockError('DATABASE_ERROR', /is closed|in closed state/)
    const destroyed = lockError('INVALID_CLIENT', /DataSource .* was destroyed/)
    for (const [index, result] of (await Promise.all(forgotten)).entries()) {
      if (!(result instanceof LockError)) continue
      expect(result.lockName).toBe(`job ${index}`)
      expect([closing, destroyed]).toContainEqual(result)
    }
  })

  it('rejects a lock after the DataSource was destroyed, and, in its pool, an extension and a release', async () => {
    const destroyed = lockError(
      'INVALID_CLIENT',
      /was destroyed – await dataSource.initialize\(\) before the first lock, and stop the jobs/,
    )
    const provider = typeOrmLockProvider(opened.dataSource, { ownConnections: 0 })
    const lock = await provider.lock(job)
    await opened.dataSource.destroy()
    await expect(provider.lock(job)).rejects.toThrow(destroyed)
    await expect(lock?.extend('1m')).rejects.toThrow(destroyed)
    await expect(lock?.unlock()).rejects.toThrow(destroyed)
  })

  itIf(backend.dialect !== 'sqlite', 'a connection of its own')(
    'releases a lock on its own connection after the DataSource was destroyed',
    async () => {
      const provider = typeOrmLockProvider(opened.dataSource)
      const lock = await provider.lock(job)
      await opened.dataSource.destroy()
      await lock?.extend('1m')
      await lock?.unlock()
      await expect(provider.lock(job)).rejects.toEqual(lockError('INVALID_CLIENT'))
    },
  )

  it.each(['name', 'lock_until', 'locked_at', 'locked_by'])(
    'rejects with TABLE_MISMATCH if column %s is missing, also if it was there before, and runs no task',
    async (column) => {
      const earlier = typeOrmLockProvider(opened.dataSource)
      await (await earlier.lock(job))?.unlock()
      await opened.dataSource.query(`alter table shedlock rename column ${column} to other`)
      const missing = `'shedlock' has no column '${column}' – add it as '[^']+ not null', or correct columnNames`
      const task = jest.fn()
      for (const provider of [earlier, typeOrmLockProvider(opened.dataSource)])
        await expect(new LockingTaskExecutor(provider).executeWithLock(job, task)).rejects.toEqual(
          lockError('TABLE_MISMATCH', new RegExp(missing)),
        )
      expect(task).not.toHaveBeenCalled()
    },
  )
})
