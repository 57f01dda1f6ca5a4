import type { DataSourceOptions } from 'typeorm'
import { expect, it } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { adapterFor, connect } from '../prisma/adapters'

/** How long the app's own connection waits for another writer, in milliseconds: longer than a lock may take. */
const PATIENCE = 20_000
const LIMIT = { timeLimit: '8s' }
const backends = availableBackends('sqlite')

describeBackends(backends)('a lock on a SQLite file', (backend) => {
  const prepareDatabase = (database: { pragma(text: string): unknown }): void => {
    database.pragma(`busy_timeout = ${PATIENCE}`)
    // A write returns a row instead of its count.
    database.pragma('count_changes = 1')
  }

  async function open(orm: 'TypeORM' | 'Prisma') {
    const { dataSource, connect: another } = await openDatabase(backend, migrated())
    const writer = await another()
    const file = String((dataSource.options as DataSourceOptions & { database: string }).database)
    if (orm === 'TypeORM')
      return { writer, provider: typeOrmLockProvider(await another({ prepareDatabase }), LIMIT) }
    const client = await connect(adapterFor('sqlite'), `file:${file}`, { timeout: PATIENCE })
    await client.$connect()
    afterTest(() => client.$disconnect())
    return { writer, provider: prismaLockProvider(client, LIMIT) }
  }

  it.each(
    (['TypeORM', 'Prisma'] as const).flatMap((orm) =>
      ['immediate', 'exclusive'].map((mode) => ({ orm, mode })),
    ),
  )(
    'leaves the event loop to the app of $orm while another connection writes, begin $mode, also the first one',
    async ({ orm, mode }) => {
      const { writer, provider } = await open(orm)
      for (const name of ['first', 'second']) {
        await writer.query(`begin ${mode}`)
        let stoodStill = false
        setTimeout(() => void writer.query('rollback'), 100)
        // If the event loop stood still, both timers would be due when it goes on.
        const late = setTimeout(() => (stoodStill = true), PATIENCE / 2)
        afterTest(() => {
          clearTimeout(late)
        })
        expect(await provider.lock({ name, lockAtMostFor: '1m' })).toBeDefined()
        expect(stoodStill).toBe(false)
      }
    },
  )
})
