import { beforeAll, describe } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { lockProviderSuite } from '../../src/testing'
import { afterBlock } from '../after-test'
import { conformanceBackends, describeBackends, type Backend } from '../backends'
import { openDatabase } from '../backends/open-database'
import { register, registerOn } from './register'
import { createAppTables, sqlEnvironment } from './sql-environment'
import { sqlLockProviderSuite, type SqlSuiteCase } from './sql-lock-provider-suite'
import type { Observer } from './lock-table-observer'
import { spannerObserver } from './spanner-observer'
import { typeOrmClient } from './typeorm-client'

interface Variant {
  readonly variant: string
  readonly options?: { readonly type: 'mysql' } | { readonly enableWAL: true }
  /** Its statements are those of another backend, where they are shown to keep locks: here the server only has to take them. */
  readonly sqlOnly?: true
}

/** The ways in which apps connect to a backend, where there are several. */
function variantsOf({ name }: Backend): readonly Variant[] {
  if (name === 'mariadb')
    return [{ variant: '' }, { variant: ' as type mysql', options: { type: 'mysql' }, sqlOnly: true }]
  if (name === 'sqlite')
    return [{ variant: ' with a rollback journal' }, { variant: ' with WAL', options: { enableWAL: true } }]
  return [{ variant: '' }]
}

/** What a stand-in for the real server cannot show. */
function seenOn({ name }: Backend): (one: SqlSuiteCase) => SqlSuiteCase {
  return (one) =>
    name === 'spanner' && /eight workers|never loses/.test(one.title)
      ? { ...one, skip: 'its emulator aborts all transactions but one' }
      : one
}

const cases = conformanceBackends().flatMap((backend) =>
  variantsOf(backend).map((variant) => ({ backend, ...variant })),
)

describeBackends(cases)('TypeORM on $backend.name$variant', ({ backend, options = {}, sqlOnly }) => {
  const after = afterBlock()
  let dataSource: DataSource
  let observer: Observer
  const client = typeOrmClient(backend, () => dataSource, 'enableWAL' in options)
  const environment = sqlEnvironment({ query: (...sql) => observer.query(...sql) }, backend.dialect, client)

  beforeAll(async () => {
    ;({ dataSource } = await openDatabase(backend, options, after))
    after(() => client.close())
    observer = backend.dialect === 'spanner' ? spannerObserver(dataSource) : dataSource
    await createAppTables(observer)
    await environment.createTable()
  })

  if (!sqlOnly)
    describe('as any lock provider', () => {
      lockProviderSuite(environment).map(seenOn(backend)).forEach(registerOn(backend.name))
    })
  describe('as a lock provider in SQL', () => {
    sqlLockProviderSuite(environment).map(seenOn(backend)).forEach(register)
  })
})
