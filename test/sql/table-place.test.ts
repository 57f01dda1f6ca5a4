import { describe, expect, it } from '@jest/globals'
import {
  describePlace,
  DriverError,
  SqlLockProvider,
  dialects,
  type DialectName,
} from '../../src/sql/internal'
import { everyClient } from '../conformance/every-client'
import { type StatementSender, clientOf } from '../statement-sender'

/** What a place looks like, of a database with this name. */
const PLACES: Partial<Record<DialectName, (database: string) => string>> = {
  postgres: (database) =>
    `table public\\.shedlock, database ${database}, postgres at \\S+( port \\d+| local socket)`,
  // Prisma does not know which of the two it is.
  mariadb: (database) => `table ${database}\\.shedlock, m(ariadb|ysql) at \\S+ port \\d+`,
  mysql: (database) => `table ${database}\\.shedlock, mysql at \\S+ port \\d+`,
  sqlite: (database) => `table shedlock, sqlite at \\S*${database}`,
}

describe.each(everyClient().filter(({ dialect }) => PLACES[dialect]))('with $title', (client) => {
  it('a provider says which table it is, where', async () => {
    const opened = await client.open()
    try {
      const database = String(opened.observer.options.database).replace(/^.*\//, '')
      expect(describePlace(await opened.createProvider().table.place())).toMatch(
        new RegExp(`^${PLACES[client.dialect]?.(database) ?? ''}$`),
      )
    } finally {
      await opened.close()
    }
  })
})

it('of a server that does not know its own name the rest is said', async () => {
  const refuses: Pick<StatementSender, 'query'> = {
    query: (statement) => {
      if (JSON.stringify(statement).includes('inet_server_addr'))
        return Promise.reject(new DriverError('42883', 'unknown function'))
      return Promise.resolve([{ place_database: 'app', place_schema: 'jobs', column_name: 'name' }])
    },
  }
  const executor = { ...refuses, execute: () => Promise.resolve(1) }
  expect(describePlace(await new SqlLockProvider(clientOf(executor), dialects.postgres).table.place())).toBe(
    'table jobs.shedlock, database app, postgres',
  )
})
