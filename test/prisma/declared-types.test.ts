import { Pool } from 'pg'
import { expect } from '@jest/globals'
import { drivers } from '../../src/drivers/drivers'
import { sqlClient } from '../../src/drivers/sql-client'
import { dialects } from '../../src/sql/dialects'
import { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, testBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { everyQuestion } from '../conformance/every-question'
import { observeLockTable } from '../conformance/lock-table-observer'

/** The type that Prisma's Rust engine declares for a value of a raw statement. */
function declared(value: string | number | null): string {
  if (typeof value === 'string') return 'text'
  if (value === null) return 'unknown'
  if (!Number.isInteger(value)) return 'float8'
  return Math.abs(value) < 2 ** 31 ? 'int4' : 'int8'
}

const literal = (value: string | number | null): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)

testBackends(availableBackends('postgres'))(
  "values with the types that Prisma's Rust engine declares are accepted by every statement of a lock, for short and long times",
  async (backend) => {
    const { database, dataSource } = await openDatabase(backend, migrated())
    const pool = new Pool({ connectionString: database.url, max: 1 })
    afterTest(() => pool.end())
    const types = new Set<string>()
    const client = sqlClient(drivers.postgres, async (text, values) => {
      const ofValues = values.map(declared)
      for (const type of ofValues) types.add(type)
      await pool.query('deallocate all')
      await pool.query(`prepare p${ofValues.length > 0 ? `(${ofValues.join()})` : ''} as ${text}`)
      const { rows, rowCount } = await pool.query(
        `execute p${values.length > 0 ? `(${values.map(literal).join()})` : ''}`,
      )
      return { rows: rows as [], changed: rowCount }
    })
    const provider = new SqlLockProvider(client, dialects.postgres)
    await everyQuestion(provider, observeLockTable(dataSource, 'postgres'))
    const year = 31_536_000_000
    const lock = await provider.lock({ name: 'long', lockAtMostFor: year })
    const row = await provider.table.find('long')
    expect(Number(row?.lockUntil) - Number(row?.lockedAt)).toBe(year)
    await lock?.unlock()
    expect(await provider.table.check()).toEqual([])
    expect(await provider.table.list()).toHaveLength(2)
    expect([...types].sort()).toEqual(['int4', 'int8', 'text', 'unknown'])
  },
)
