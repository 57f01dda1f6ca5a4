import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import type { Duration } from '../../src/core'
import { dialects, type DialectName } from '../../src/sql'
import { typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { lockError } from '../lock-error'

/** Real servers, on which a trigger raises the errors that are hard to come by. */
const RAISE: Partial<Record<DialectName, (code: string) => readonly string[]>> = {
  postgres: (code) => [
    `create function fail() returns trigger language plpgsql as $$ begin
      raise exception 'on purpose' using errcode = '${code}'; end $$`,
    'create trigger fail before insert or update on shedlock for each row execute function fail()',
  ],
  mariadb: (code) => [
    `create trigger fail before insert on shedlock for each row
      signal sqlstate '${code === '1053' ? '08S01' : '40001'}' set mysql_errno = ${code}`,
  ],
}
/** What a client is told when nobody knows what became of its statement. */
const UNKNOWN: Partial<Record<DialectName, readonly string[]>> = {
  postgres: ['08006', '40003', '57P01', '57P02'],
  mariadb: ['1053'],
}

const cases = availableBackends().flatMap((backend) => {
  const raise = RAISE[backend.dialect]
  // CockroachDB's dialect too: it is PostgreSQL's, but for what keeps a guarded transaction's row.
  const spoken: DialectName[] =
    backend.dialect === 'postgres' ? ['postgres', 'cockroachdb'] : [backend.dialect]
  return raise ? spoken.map((dialect) => ({ backend, dialect, raise })) : []
})

describeBackends(cases)('the dialect $dialect on $backend.name', ({ backend, dialect, raise }) => {
  let dataSource: DataSource

  beforeEach(async () => {
    ;({ dataSource } = await openDatabase(backend, migrated()))
  })

  const lock = (timeLimit: Duration = '2s') =>
    typeOrmLockProvider(dataSource, { dialect, timeLimit }).lock({ name: 'job', lockAtMostFor: '1m' })
  const raiseAlways = async (code: string): Promise<void> => {
    for (const statement of raise(code)) await dataSource.query(statement)
  }

  it('takes, refuses, and frees', async () => {
    const held = await lock()
    expect(await lock()).toBeUndefined()
    await (await held?.extend('2m'))?.unlock()
    expect(await lock()).toBeDefined()
  })

  const transient = Object.entries(dialects[dialect].transientErrors).filter(([code]) =>
    /^\w{4,5}$/.test(code),
  )
  it.each(transient)('tries again after error %s, and fails in the end: %s', async (code) => {
    await raiseAlways(code)
    await expect(lock('300ms')).rejects.toEqual(lockError('TIMEOUT', 'too busy'))
  })

  for (const code of UNKNOWN[backend.dialect] ?? []) {
    it(`does not take error ${code} for an answer`, async () => {
      await raiseAlways(code)
      await expect(lock()).rejects.toEqual(
        lockError('DATABASE_ERROR', 'The connection to the database failed'),
      )
    })
  }
})
