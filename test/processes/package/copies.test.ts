import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, test } from '@jest/globals'
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

/** What is loaded by `import`; `common` is the other one. */
const MODULE = `
import assert from 'node:assert'
import { createRequire } from 'node:module'
import { DataSource } from 'typeorm'
import * as core from 'shedlock-orm'
import { createShedLockMigration, guard, typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { makeAllAssertsPass } from 'shedlock-orm/testing'
const common = createRequire(import.meta.url)(process.argv[1])
const { InMemoryLockProvider, LockError, LockingTaskExecutor } = core
assert.notEqual(common.LockError, LockError, 'it is one copy')
const job = { name: 'job', lockAtMostFor: '1m' }
const database = async () => {
  const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:', migrations: [createShedLockMigration()], migrationsRun: true })
  return dataSource.initialize()
}
`

beforeAll(() => {
  installInto(app)
  installInto(library)
  for (const each of [app, library]) writeFileSync(join(each, 'common.cjs'), COMMON_JS)
  for (const peer of ['typeorm', 'better-sqlite3'])
    symlinkSync(installed(peer), join(app, 'node_modules', peer), 'junction')
}, 120_000)

describe.each([
  { other: 'the CommonJS one of the same copy', common: () => join(app, 'common.cjs') },
  { other: 'one of another copy', common: () => join(library, 'common.cjs') },
])('an ES module, and beside it $other', ({ common }) => {
  const run = (script: string): void => {
    node(app, '--input-type=module', '-e', MODULE + script, common())
  }

  test('share the active lock', () => {
    run(`
      const provider = new InMemoryLockProvider()
      assert.throws(common.assertLocked, { code: 'NOT_LOCKED' })
      for (const [here, there] of [[core, common], [common, core]])
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
    `)
  })

  test('know their errors, and those of subclasses', () => {
    run(`
      for (const [here, there] of [[core, common], [common, core]]) {
        class Own extends here.LockError {}
        assert(new there.LockError('TIMEOUT', 'late') instanceof here.LockError)
        assert(new Own('TIMEOUT', 'late') instanceof there.LockError)
        assert(new Own('TIMEOUT', 'late') instanceof Own)
        assert(!(new there.LockError('TIMEOUT', 'late') instanceof Own))
        assert(!(new Error('late') instanceof here.LockError))
        for (const value of [undefined, null, 'late', 1, {}]) assert(!(value instanceof here.LockError))
      }
    `)
  })

  test("guard a transaction by each other's locks", () => {
    run(`
      const dataSource = await database()
      for (const [here, there, guardThere] of [
        [typeOrmLockProvider, common, common.guard], [common.typeOrmLockProvider, core, guard],
      ])
        await new there.LockingTaskExecutor(here(dataSource)).executeWithLock(job, async () => {
          await dataSource.transaction((manager) => guardThere(manager))
        })
      await dataSource.destroy()
    `)
  })

  test('switch the assertions of unit tests off and on again', () => {
    run(`
      for (const [here, there] of [[{ ...core, makeAllAssertsPass }, common], [common, core]]) {
        here.makeAllAssertsPass(true)
        there.assertLocked()
        here.makeAllAssertsPass(false)
        assert.throws(there.assertLocked, { code: 'NOT_LOCKED' })
      }
    `)
  })
})
