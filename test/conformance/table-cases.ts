import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  expectFree,
  expectHeld,
  expectRefused,
  newConfiguration,
  prepare,
  untilFree,
} from '../../src/testing/expectations'
import { acquireLock, acquireNewLock, expectLockError, expectRow } from './sql-expectations'
import type { LockTableOptions } from '../../src/sql/names'
import { hostileNames } from '../sql/hostile-names'
import type { LockRow } from './lock-table-observer'
import type { SqlCases, SqlLockProviderEnvironment } from './sql-environment'

const TABLES: readonly LockTableOptions[] = [
  hostileNames,
  {
    tableName: 'select',
    columnNames: { name: 'order', lockUntil: 'until', lockedAt: 'from', lockedBy: 'by' },
  },
  // As the statements call what they read.
  {
    tableName: 'held',
    columnNames: { name: 'held', lockUntil: 'Zámek', lockedAt: 'UPPER', lockedBy: 'now' },
  },
]

async function cycle(environment: SqlLockProviderEnvironment): Promise<void> {
  const { provider, configuration } = await prepare(environment)
  for (const lockAtLeastFor of [0, 1]) {
    const lock = await acquireLock(provider, { ...configuration, lockAtLeastFor })
    await expectHeld(environment, configuration.name)
    await expectRefused(provider, configuration)
    await lock.extend('10s')
    await lock.unlock()
    await untilFree(environment, configuration.name)
  }
}

async function expiredRow(environment: SqlLockProviderEnvironment): Promise<LockRow> {
  const yesterday = (await environment.clock()) - 86_400_000
  const row = { name: randomUUID(), lockUntil: yesterday, lockedAt: yesterday, lockedBy: 'me' }
  await environment.insertRow(row)
  return row
}

export const tableCases: SqlCases = {
  'acquires an expired row that another program created': async (environment) => {
    const { name } = await expiredRow(environment)
    await expectFree(environment, name)
    const lock = await acquireLock(await environment.createProvider(), newConfiguration({ name }))
    await expectHeld(environment, name)
    await lock.unlock()
    await expectFree(environment, name)
  },
  "does not extend a lease that is over by the database's clock": async (environment) => {
    const lock = await acquireNewLock(environment)
    const row = await expectRow(environment, lock.name)
    const over = { ...row, lockUntil: (await environment.clock()) - 1_000 }
    await environment.deleteRow(lock.name)
    await environment.insertRow(over)
    await expectLockError(lock.extend('10m'), 'LOCK_LOST')
    assert.equal((await expectRow(environment, lock.name)).lockUntil, over.lockUntil)
  },
  'respects a row that another program holds, and leaves it unchanged': async (environment) => {
    const now = await environment.clock()
    const row = { name: randomUUID(), lockUntil: now + 3_600_000, lockedAt: now, lockedBy: 'java-service' }
    await environment.insertRow(row)
    await expectRefused(await environment.createProvider(), newConfiguration({ name: row.name }))
    assert.deepEqual(await environment.findRow(row.name), row)
  },
  'never touches another row': async (environment) => {
    const provider = await environment.createProvider()
    const [row, other] = [await expiredRow(environment), await expiredRow(environment)]
    const lock = await acquireLock(provider, newConfiguration({ name: row.name, lockAtLeastFor: '1s' }))
    await lock.extend('1m')
    await lock.unlock()
    assert.deepEqual(await environment.findRow(other.name), other)
  },
  'acquires a lock again if its row was deleted, while it was held or after it was released': async (
    environment,
  ) => {
    const { provider, configuration } = await prepare(environment)
    const late = await acquireLock(provider, configuration)
    await environment.deleteRow(configuration.name)
    const lock = await acquireLock(provider, configuration)
    await expectLockError(late.extend('10s'), 'LOCK_LOST')
    await expectHeld(environment, configuration.name)
    await lock.unlock()
    await environment.deleteRow(configuration.name)
    await (await acquireLock(provider, configuration)).unlock()
  },
  'releases a lock without an error if its row is gone': async (environment) => {
    const lock = await acquireNewLock(environment)
    await environment.deleteRow(lock.name)
    await lock.unlock()
    assert.equal(await environment.findRow(lock.name), undefined, 'the release created a row')
  },
  'finds a table that was created after start-up, dropped and created again': async (environment) => {
    const other = await environment.withTable({ tableName: `late_${randomUUID().slice(0, 8)}` })
    const provider = await other.createProvider()
    for (let round = 0; round < 2; round++) {
      await other.dropTable()
      await expectLockError(provider.lock(newConfiguration()), 'TABLE_MISSING')
      await other.createTable()
      await (await acquireLock(provider, newConfiguration())).unlock()
    }
    await other.dropTable()
  },
  ...Object.fromEntries(
    TABLES.map((names) => [
      `keeps its locks in a table with the name ${names.tableName}`,
      async (environment: SqlLockProviderEnvironment) => {
        const other = await environment.withTable(names)
        await cycle(other)
        await other.dropTable()
      },
    ]),
  ),
}
