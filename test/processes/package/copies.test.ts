import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, test } from '@jest/globals'
import { installed, installInto, node, temporaryFolder } from './packed-package'

const folder = temporaryFolder()
const app = join(folder, 'app')
const library = join(folder, 'library')

/** What is loaded by `require`, be it of the same copy or of another. */
const COMMON_JS = `
const core = require('shedlock-orm')
const { guard, typeOrmLockProvider } = require('shedlock-orm/typeorm')
const { makeAllAssertsPass } = require('shedlock-orm/testing')
module.exports = { ...core, guard, typeOrmLockProvider, makeAllAssertsPass }
`
/** What is loaded by `import`, and each of the two with the other. */
const MODULE = `
import assert from 'node:assert'
import { createRequire } from 'node:module'
import { DataSource } from 'typeorm'
import * as core from 'shedlock-orm'
import { createShedLockMigration, guard, typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { makeAllAssertsPass } from 'shedlock-orm/testing'
const common = createRequire(import.meta.url)(process.argv[1])
const imported = { ...core, guard, typeOrmLockProvider, makeAllAssertsPass }
assert.notEqual(common.LockError, core.LockError, 'it is one copy')
const migrations = [createShedLockMigration()]
const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:', migrations, migrationsRun: true })
await dataSource.initialize()
const job = { name: 'job', lockAtMostFor: '1m' }
for (const [here, there] of [[imported, common], [common, imported]]) {
  // They share the active lock.
  assert.throws(there.assertLocked, { code: 'NOT_LOCKED' })
  const provider = here.typeOrmLockProvider(dataSource)
  await new here.LockingTaskExecutor(provider).executeWithLock(job, async ({ signal }) => {
    there.assertLocked()
    await there.activeLock().extend('5m')
    assert(there.activeLock().remaining() > 120_000)
    assert.equal(there.activeLock().signal, signal)
    // The lock is not reentrant; its executor is, whichever copy it is of.
    assert.deepEqual(
      await new there.LockingTaskExecutor(provider).executeWithLock(job, () => 'inside'),
      { executed: true, value: 'inside' },
    )
  })

  // They guard a transaction by a lock of the other's provider, or executor, also in unit tests.
  for (const locks of [provider, new here.InMemoryLockProvider()])
    for (const { LockingTaskExecutor } of [here, there])
      await new LockingTaskExecutor(locks).executeWithLock(job, async () => {
        await dataSource.transaction((manager) => there.guard(manager))
      })

  // They know each other's errors, and those of subclasses.
  class Own extends here.LockError {}
  assert(new there.LockError('TIMEOUT', 'late') instanceof here.LockError)
  assert(new Own('TIMEOUT', 'late') instanceof there.LockError)
  assert(new Own('TIMEOUT', 'late') instanceof Own)
  assert(!(new there.LockError('TIMEOUT', 'late') instanceof Own))
  for (const value of [undefined, null, 'late', 1, {}, new Error('late')]) assert(!(value instanceof here.LockError))

  // They switch the assertions of unit tests off and on again.
  here.makeAllAssertsPass(true)
  there.assertLocked()
  here.makeAllAssertsPass(false)
  assert.throws(there.assertLocked, { code: 'NOT_LOCKED' })
}
await dataSource.destroy()
`

beforeAll(() => {
  for (const each of [app, library]) {
    installInto(each)
    writeFileSync(join(each, 'common.cjs'), COMMON_JS)
  }
  for (const peer of ['typeorm', 'better-sqlite3'])
    symlinkSync(installed(peer), join(app, 'node_modules', peer), 'junction')
})

test.each([
  { other: 'the CommonJS one of the same copy', common: join(app, 'common.cjs') },
  { other: 'one of another copy', common: join(library, 'common.cjs') },
])('an ES module and $other share the active lock, guard, errors and assertions', ({ common }) => {
  node(app, '--input-type=module', '-e', MODULE, common)
})
