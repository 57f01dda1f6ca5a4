import { expect, it } from '@jest/globals'
import { type DialectName, dialects, SqlLockProvider } from '../../src/sql/internal'
import { describeBackends } from '../backends'
import { everyClient, openedClient } from '../conformance/every-client'
import { everyQuestion } from '../conformance/every-question'
import { lockError } from '../lock-error'
import { withRows } from '../statement-sender'

const job = { name: 'job', lockAtMostFor: '10m' }

const typeOrms = everyClient().filter(({ orm }) => orm === 'TypeORM')

// Not about an ORM, nor a dialect.
const onPostgres = typeOrms.filter(({ backend }) => backend === 'postgres')

describeBackends(onPostgres)('$title behind a plugin that renames columns', (each) => {
  const client = openedClient(each)

  it('is refused, with the schema as an option or without', async () => {
    const renaming = withRows(client.sqlClient, (row) =>
      Object.fromEntries(Object.entries(row).map(([column, value]) => [column.replace('_', ''), value])),
    )
    await client.createProvider().lock({ ...job, name: 'there' })
    for (const options of [{}, { schema: 'public' }]) {
      const provider = new SqlLockProvider(renaming, dialects[each.dialect], options)
      const calls = [provider.lock(job), provider.table.list(), provider.table.check()]
      const refused = lockError('INVALID_CLIENT', /renames the columns/)
      await Promise.all(calls.map((call) => expect(call).rejects.toEqual(refused)))
    }
  })
})

interface MySqlField {
  readonly type: string
  string(): string | null
}
const ON_MYSQL = {
  ...{ supportBigNumbers: true, bigNumberStrings: true, dateStrings: true },
  extra: {
    // As the text protocol of TypeORM's own statements allows; TypeORM itself reads texts alone.
    typeCast: (field: MySqlField, next: () => unknown) =>
      field.type === 'VAR_STRING' ? next() : { value: field.string() },
  },
}
/** How an app may read values, for all that its client reads. */
const READING: Partial<Record<DialectName, object>> = {
  postgres: {
    extra: { types: { getTypeParser: (type: number) => ([20, 21, 23].includes(type) ? BigInt : String) } },
  },
  sqlite: {
    prepareDatabase: (database: { defaultSafeIntegers(): unknown }) => database.defaultSafeIntegers(),
  },
  mariadb: ON_MYSQL,
  mysql: ON_MYSQL,
}
const readers = typeOrms.filter(({ dialect }) => dialect in READING)

describeBackends(readers)('$title whose app reads values in its own way', (each) => {
  const client = openedClient(each, {}, READING[each.dialect])

  // With a quote in their name, mysql2 sends statements in the text protocol.
  it.each(['job', "it's"])('keeps its locks, such as %s', (name) =>
    everyQuestion(client.createProvider(), client.table, name),
  )
})
