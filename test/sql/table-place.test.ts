import { describe, expect, it } from '@jest/globals'
import { describePlace, type DialectName } from '../../src/sql/internal'
import { everyClient } from '../conformance/every-client'

/** What a place looks like, of a database with this name. */
const PLACES: Partial<Record<DialectName, (database: string) => string>> = {
  postgres: (database) => `table public\\.shedlock, database ${database}, postgres`,
  // Prisma does not know which of the two it is.
  mariadb: (database) => `table ${database}\\.shedlock, m(ariadb|ysql)`,
  mysql: (database) => `table ${database}\\.shedlock, mysql`,
  sqlite: (database) => `table shedlock, database \\S*${database}, sqlite`,
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
