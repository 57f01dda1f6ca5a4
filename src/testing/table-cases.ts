import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  EXTENDED,
  NOT_EXTENDED,
  expectFree,
  expectHeld,
  expectLockError,
  expectRefused,
  newConfiguration,
  take,
  untilFree,
} from './expectations'
import type { LockRow, SqlLockProviderEnvironment, TableNames } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

const HOSTILE_NAMES: readonly TableNames[] = [
  {
    tableName: 'Shed"Lock`s [table]; drop\'',
    columnNames: {
      name: 'Na"me`',
      lockUntil: 'lock until',
      lockedAt: "locked'at--",
      lockedBy: '[Locked]By?$1',
    },
  },
  {
    tableName: 'select',
    columnNames: { name: 'order', lockUntil: 'until', lockedAt: 'from', lockedBy: 'by' },
  },
  {
    tableName: 'held',
    columnNames: { name: 'held', lockUntil: 'Zámek', lockedAt: 'UPPER', lockedBy: 'now' },
  },
]

async function cycle(environment: SqlLockProviderEnvironment): Promise<void> {
  const provider = await environment.createProvider()
  const configuration = newConfiguration()
  for (const lockAtLeastFor of [0, 1]) {
    const lock = await take(provider, { ...configuration, lockAtLeastFor })
    await expectHeld(environment, configuration.name)
    await expectRefused(provider, configuration)
    const longer = await lock.extend('10s')
    assert(longer, NOT_EXTENDED)
    await longer.unlock()
    await untilFree(environment, configuration.name)
  }
}

async function expiredRow(environment: SqlLockProviderEnvironment): Promise<LockRow> {
  const yesterday = (await environment.clock()) - 86_400_000
  const row = { name: randomUUID(), lockUntil: yesterday, lockedAt: yesterday, lockedBy: 'me' }
  await environment.insertRow(row)
  return row
}

export const tableCases: readonly CaseDefinition<SqlLockProviderEnvironment>[] = [
  {
    title: 'takes over an expired row that somebody else made',
    run: async (environment) => {
      const { name } = await expiredRow(environment)
      await expectFree(environment, name)
      const lock = await take(await environment.createProvider(), newConfiguration({ name }))
      await expectHeld(environment, name)
      await lock.unlock()
      await expectFree(environment, name)
    },
  },
  {
    title: 'respects a row that somebody else holds, and leaves it as it is',
    run: async (environment) => {
      const now = await environment.clock()
      const row = { name: randomUUID(), lockUntil: now + 3_600_000, lockedAt: now, lockedBy: 'java-service' }
      await environment.insertRow(row)
      await expectRefused(await environment.createProvider(), newConfiguration({ name: row.name }))
      assert.deepEqual(await environment.findRow(row.name), row)
    },
  },
  {
    title: 'writes who holds the lock: a readable part and a random one, new each time',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const owners = new Set<string>()
      for (let round = 0; round < 3; round++) {
        const lock = await take(provider, configuration)
        owners.add((await environment.findRow(configuration.name))?.lockedBy ?? '')
        await lock.unlock()
      }
      assert.equal(owners.size, 3, 'three acquisitions have fewer than three owners')
      for (const owner of owners) assert.match(owner, /^.+\/[0-9a-f-]{36}$/)
    },
  },
  {
    title: 'never touches another row',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const [row, other] = [await expiredRow(environment), await expiredRow(environment)]
      const lock = await take(provider, newConfiguration({ name: row.name, lockAtLeastFor: '1s' }))
      const longer = await lock.extend('1m')
      await longer?.unlock()
      assert.deepEqual(await environment.findRow(other.name), other)
    },
  },
  {
    title: 'can be locked again when its row was deleted while it was held',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const late = await take(provider, configuration)
      await environment.deleteRow(configuration.name)
      const lock = await take(provider, configuration)
      assert.equal(await late.extend('10s'), undefined, EXTENDED)
      await expectHeld(environment, configuration.name)
      await lock.unlock()
    },
  },
  {
    title: 'can be locked again when its row was deleted after it was freed',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      await (await take(provider, configuration)).unlock()
      await environment.deleteRow(configuration.name)
      await (await take(provider, configuration)).unlock()
    },
  },
  {
    title: 'frees a lock whose row is gone without an error',
    run: async (environment) => {
      const configuration = newConfiguration()
      const lock = await take(await environment.createProvider(), configuration)
      await environment.deleteRow(configuration.name)
      await lock.unlock()
      assert.equal(await environment.findRow(configuration.name), undefined, 'an extension made a row')
    },
  },
  {
    title: 'finds a table that was made after start-up, dropped, and made again',
    needs: ['withTable'],
    run: async (environment) => {
      const other = await environment.withTable({ tableName: `late_${randomUUID().slice(0, 8)}` })
      const provider = await other.createProvider()
      for (let round = 0; round < 2; round++) {
        await other.dropTable()
        await expectLockError(provider.lock(newConfiguration()), 'TABLE_MISSING')
        await other.createTable()
        await (await take(provider, newConfiguration())).unlock()
      }
      await other.dropTable()
    },
  },
  ...HOSTILE_NAMES.map((names): CaseDefinition<SqlLockProviderEnvironment> => ({
    title: `keeps its locks in a table with the name ${String(names.tableName)}`,
    needs: ['withTable'],
    run: async (environment) => {
      const other = await environment.withTable(names)
      await cycle(other)
      await other.dropTable()
    },
  })),
]
