import { expect, it } from '@jest/globals'
import { everyClient, openedClient } from '../conformance/every-client'
import { describeBackends } from '../backends'

/** A type under which two could hold one lock. */
const WRONG_TYPE: Readonly<Record<string, string>> = {
  postgres: 'timestamptz',
  mysql: 'datetime',
  mariadb: 'datetime',
}

describeBackends(everyClient().filter(({ dialect }) => dialect in WRONG_TYPE))(
  'a table that is made anew while $title runs',
  (each) => {
    const client = openedClient(each)

    it('is checked again after an error', async () => {
      const provider = client.createProvider()
      const job = { name: 'job', lockAtMostFor: '1m' }
      await (await provider.lock(job))?.unlock()
      await client.table.dropTable()
      await expect(provider.lock(job)).rejects.toMatchObject({ code: 'TABLE_MISSING' })
      const type = WRONG_TYPE[each.dialect] ?? ''
      await client.observer.query(
        `create table shedlock (name varchar(64) primary key, lock_until ${type} not null, locked_at ${type} not null, locked_by varchar(255) not null)`,
      )
      await expect(provider.lock(job)).rejects.toMatchObject({ code: 'TABLE_MISMATCH' })
    })
  },
)
