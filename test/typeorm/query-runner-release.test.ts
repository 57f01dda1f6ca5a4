import { expect, it } from '@jest/globals'
import { typeOrmLockProvider, type DataSourceLike } from '../../src/typeorm/internal'

const COLUMNS = [
  ['name', 'character varying(64)'],
  ['lock_until', 'timestamp(3) without time zone'],
  ['locked_at', 'timestamp(3) without time zone'],
  ['locked_by', 'character varying(255)'],
].map(([column_name, column_type]) => ({ column_name, column_type, nullable: 0, unique_keys: 1 }))
const job = { name: 'job', lockAtMostFor: '1m' }

function dataSource(createQueryRunner: DataSourceLike['createQueryRunner']): DataSourceLike {
  return { isInitialized: true, options: { type: 'postgres' }, driver: {}, createQueryRunner }
}

it('a query runner is given back before the lock that it took is handed out', async () => {
  let lent = 0
  const lending = dataSource(() => {
    lent++
    return {
      query: () => Promise.resolve({ records: COLUMNS, affected: 1 }),
      connect: () => Promise.resolve({}),
      release: async () => {
        // As some drivers do it: not at once.
        await new Promise((resolve) => setTimeout(resolve, 20))
        lent--
      },
    }
  })
  const lock = await typeOrmLockProvider(lending).lock(job)
  expect(lent).toBe(0)
  await lock?.unlock()
  expect(lent).toBe(0)
})
