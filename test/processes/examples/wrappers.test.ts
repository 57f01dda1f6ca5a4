import { expect, test } from '@jest/globals'
import { afterTest } from '../../after-test'
import { eventually } from '../../eventually'
import { startApp } from './instance'
import { migratedDatabase } from './migrated-database'

const LONG = { timeout: 120_000 }
test('a transaction commits before its lock is released, and delays the release in the wrong order', async () => {
  const { environment } = await migratedDatabase(afterTest)
  const instance = startApp('wrappers', ['invoices'], environment, afterTest)
  await eventually(() => expect(instance.lines).toContain('done'), LONG)
  for (const name of ['typeorm-transactional', 'Prisma in nestjs-cls']) {
    expect(instance.lines).toContain(`committed ${name} true`)
    expect(instance.said(`not released ${name}`)).toEqual([])
  }
  expect(instance.lines).toContain('committed typeorm-transactional/wrong false')
  expect(instance.said('not released typeorm-transactional/wrong')).toEqual([
    expect.stringContaining('a transaction with a guard of this lock is still open'),
  ])
  // A lock that was acquired with the client of a transaction is not part of it.
  expect(instance.lines).toContain('rolled back true')
})
