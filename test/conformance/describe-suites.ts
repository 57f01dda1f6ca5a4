import { beforeAll, describe } from '@jest/globals'
import { lockProviderSuite } from '../../src/testing/lock-provider-suite'
import { afterBlock, type afterTest } from '../after-test'
import { pooledClient, type PooledOrm } from './pooled-client'
import { register, registerOn } from './register'
import { createAppTables, sqlEnvironment, type Observer } from './sql-environment'
import { sqlLockProviderSuite, type SqlSuiteCase } from './sql-lock-provider-suite'

/** How one ORM reaches one backend of its own. */
export interface Orm<Client> extends PooledOrm<Client> {
  /** Whether only those cases are run that are about SQL: another client or backend shows that these statements keep locks. */
  readonly sqlOnly?: boolean | undefined
  /** Makes the database. @returns what looks past the locks */
  open(after: typeof afterTest): Promise<Observer>
}

/** Runs the exported suites through an ORM. Call it in a `describe`. */
export function describeSuites<Client>(orm: Orm<Client>): void {
  const { backend, sqlOnly } = orm
  let observer: Observer
  const environment = sqlEnvironment(
    { query: (...sql) => observer.query(...sql) },
    backend.dialect,
    pooledClient(orm),
  )
  const after = afterBlock()
  beforeAll(async () => {
    observer = await orm.open(after)
    await createAppTables(observer)
    await environment.createTable()
  })

  if (!sqlOnly)
    describe('as any lock provider', () => {
      lockProviderSuite(environment).map(seenOn(backend.name)).forEach(registerOn(backend.name))
    })
  describe('as a lock provider in SQL', () => {
    sqlLockProviderSuite(environment).map(seenOn(backend.name)).forEach(register)
  })
}

/** What a stand-in for the real server cannot show. */
function seenOn(backend: string): (one: SqlSuiteCase) => SqlSuiteCase {
  return (one) =>
    backend === 'spanner' && /eight workers|never loses/.test(one.title)
      ? { ...one, skip: 'its emulator aborts all transactions but one' }
      : one
}
