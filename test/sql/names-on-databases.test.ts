import fc from 'fast-check'
import type { DataSource } from 'typeorm'
import { beforeAll, expect, it } from '@jest/globals'
import { checkLockName, LockError } from '../../src/core/internal'
import { dialects, tableSql, type LockTableOptions } from '../../src/sql/internal'
import { createShedLockMigration, typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterFile } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'

const HOSTILE = `'";\`[]()-- /*\\%_.$1?@:aAäñß😀\u0300\u202e`
const accepted = (check: (text: string) => unknown) => (text: string) => {
  try {
    check(text)
    return true
  } catch (error) {
    if (error instanceof LockError) return false
    throw error
  }
}

describeBackends(availableBackends())('On $name', (backend) => {
  let dataSource: DataSource

  beforeAll(async () => {
    ;({ dataSource } = await openDatabase(backend, migrated(), afterFile))
  })

  it('every name that is accepted is a lock of its own', async () => {
    const provider = typeOrmLockProvider(dataSource)
    const name = fc
      .oneof(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 64 }),
        fc.string({ unit: fc.constantFrom(...Array.from(HOSTILE)), minLength: 1, maxLength: 20 }),
      )
      .filter(accepted(checkLockName))
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(name, { minLength: 2, maxLength: 6 }), async (names) => {
        const locks = []
        for (const each of names) locks.push(await provider.lock({ name: each, lockAtMostFor: '1m' }))
        expect(locks.map((lock) => lock?.name)).toEqual(names)
        for (const each of names)
          expect(await provider.lock({ name: each, lockAtMostFor: '1m' })).toBeUndefined()
        for (const lock of locks) await lock?.unlock()
      }),
      { numRuns: 25 },
    )
  })

  it('every identifier that is accepted names a table that works', async () => {
    const dialect = dialects[backend.dialect]
    const options = (tableName: string): LockTableOptions => ({
      tableName,
      columnNames: { name: `${tableName}1`, lockUntil: `2${tableName}` },
    })
    const tableName = fc
      .string({ unit: fc.constantFrom(...Array.from(HOSTILE)), minLength: 1, maxLength: 12 })
      .filter(accepted((text) => tableSql(dialect, options(text))))
    await fc.assert(
      fc.asyncProperty(tableName, async (text) => {
        const Migration = createShedLockMigration(options(text))
        const queryRunner = dataSource.createQueryRunner()
        try {
          await new Migration().up(queryRunner)
          const provider = typeOrmLockProvider(dataSource, options(text))
          const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
          expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeUndefined()
          await lock?.unlock()
          await new Migration().down(queryRunner)
        } finally {
          await queryRunner.release()
        }
      }),
      { numRuns: 25 },
    )
  })
})
