import { describe, expect, it } from '@jest/globals'
import { dialects, raw, SqlLockProvider, type DialectName, type Sql } from '../../src/sql/internal'
import { describeBackends } from '../backends'
import { everyClient, openedClient } from '../conformance/every-client'
import { lockError } from '../lock-error'
import { clientOf, senderOf } from '../statement-sender'

const SCHEMA: Partial<Record<DialectName, Sql>> = {
  postgres: raw('select current_schema()::text'),
  mariadb: raw('select database()'),
  mysql: raw('select database()'),
}
const job = { name: 'job', lockAtMostFor: '10m' }

const typeOrms = everyClient().filter(({ orm }) => orm === 'TypeORM')

// Not about an ORM.
describeBackends(typeOrms)('$title behind a plugin that renames columns', (each) => {
  const client = openedClient(each)

  it.each([
    ['camel case', (column: string) => column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())],
    ['upper case', (column: string) => column.toUpperCase()],
  ])('is refused: %s', async (_, rename) => {
    const sender = senderOf(client.sqlClient)
    const renaming = clientOf({
      execute: (...statement) => sender.execute(...statement),
      query: async (...statement) =>
        (await sender.query(...statement)).map((row) =>
          Object.fromEntries(Object.entries(row).map(([column, value]) => [rename(column), value])),
        ),
    })
    await client.createProvider().lock({ ...job, name: 'there' })
    const refused = lockError('INVALID_CLIENT', /renames the columns/)
    const [schema] = Object.values(
      (await sender.query(SCHEMA[each.dialect] ?? raw('select null'), {}))[0] ?? {},
    )
    for (const options of [{}, typeof schema === 'string' ? { schema } : {}]) {
      const provider = new SqlLockProvider(renaming, dialects[each.dialect], options)
      await expect(provider.lock(job)).rejects.toEqual(refused)
      await expect(provider.table.list()).rejects.toEqual(refused)
      await expect(provider.table.check()).rejects.toEqual(refused)
    }
  })
})

/** How an app may read values, for all that its client reads. */
const READING: Partial<Record<DialectName, object>> = {
  postgres: {
    extra: { types: { getTypeParser: (type: number) => ([20, 21, 23].includes(type) ? BigInt : String) } },
  },
  mariadb: { supportBigNumbers: true, bigNumberStrings: true, dateStrings: true, typeCast: () => 'anything' },
}
describeBackends(typeOrms.filter(({ dialect }) => dialect !== 'sqlite'))(
  '$title whose app reads values in its own way',
  (each) => {
    const { mariadb: mysql } = READING
    const client = openedClient(each, {}, READING[each.dialect] ?? mysql)

    describe.each([{}, { slot: new Date() }])('%j', (slot) => {
      it('keeps its locks', async () => {
        const provider = client.createProvider()
        const configuration = { ...job, ...slot, name: JSON.stringify(slot).replaceAll('"', '') }
        const lock = await provider.lock(configuration)
        expect(await provider.lock(configuration)).toBeUndefined()
        await lock?.extend('20m')
        expect(await lock?.fencingToken()).toEqual(expect.any(Number))
        await lock?.unlock()
        expect(await client.table.isHeld(configuration.name)).toBe(false)
      })
    })
  },
)
