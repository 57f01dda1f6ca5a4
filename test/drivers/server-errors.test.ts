import type { DataSource } from 'typeorm'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Duration } from '../../src/core/internal'
import { dialects, render, sql, type DialectName } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase, type OpenDatabase } from '../backends/open-database'
import { lockError } from '../lock-error'
import { Log } from '../typeorm/log'

/** An error, in which sessions a server raises it, and how often: in all and always, by default. */
interface Fault {
  readonly code: string
  readonly message?: string
  readonly onlyIn?: string
  readonly times?: number
}

const ALWAYS = 1_000_000

/** In MySQL's trigger. */
const raiseOnMySql = ({
  code,
  message = 'on purpose',
  onlyIn = 'connection_id()',
  times = ALWAYS,
}: Fault) => [
  `create trigger fail before insert on shedlock for each row
    if connection_id() = ${onlyIn} and coalesce(@failures, 0) < ${times} then
      set @failures = coalesce(@failures, 0) + 1;
      signal sqlstate '${['1053', '1047', '1040'].includes(code) ? '08S01' : '40001'}'
        set mysql_errno = ${code}, message_text = '${message}';
    end if`,
]

/** Real servers, on which a trigger raises the errors that are hard to come by. */
const RAISE: Partial<Record<DialectName, (fault: Fault) => readonly string[]>> = {
  postgres: ({ code, message = 'on purpose', onlyIn = 'pg_backend_pid()', times = ALWAYS }) => [
    // A rollback does not undo it.
    'create sequence failures',
    `create function fail() returns trigger language plpgsql as $$ begin
      if pg_backend_pid() = ${onlyIn} and nextval('failures') <= ${times} then
        raise exception '${message}' using errcode = '${code}';
      end if;
      return new; end $$`,
    'create trigger fail before insert or update on shedlock for each row execute function fail()',
  ],
  mariadb: raiseOnMySql,
  mysql: raiseOnMySql,
}
/** What an error means for its statement, where the message decides, or a code that is no answer of the server. */
type Meaning = 'notSent' | 'lostRace' | 'unknown'

const UNKNOWN_ON_POSTGRES = ['08006', '40003', '57P01', '57P02'].map((code) => ({ code }))
const onMySql: Readonly<Record<Meaning, readonly Fault[]>> = {
  notSent: [],
  lostRace: [{ code: '1180', message: 'Got error 149 - Lock deadlock; Retry transaction, during COMMIT' }],
  unknown: [
    { code: '1053' },
    { code: '1180', message: 'Got error 5 - Not connected to Primary Component, during COMMIT' },
  ],
}
/** With its words in the titles of tests. */
const titled = (fault: Fault) => ({ ...fault, title: [fault.code, fault.message].filter(Boolean).join(': ') })
const FAULTS: Partial<Record<DialectName, typeof onMySql>> = {
  postgres: {
    notSent: [
      { code: '08P01', message: 'server login has been failing, try again later (server_login_retry)' },
      { code: '08P01', message: 'query_wait_timeout' },
    ],
    lostRace: [],
    unknown: [...UNKNOWN_ON_POSTGRES, { code: '08P01', message: 'unexpected message type' }],
  },
  mariadb: onMySql,
  mysql: onMySql,
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

  let connect: OpenDatabase['connect']

  beforeEach(async () => {
    ;({ dataSource, connect } = await openDatabase(backend, migrated()))
  })

  const lock = (timeLimit: Duration = '2s') =>
    typeOrmLockProvider(dataSource, { dialect, timeLimit }).lock({ name: 'job', lockAtMostFor: '1m' })
  const raiseError = async (fault: Fault): Promise<void> => {
    for (const statement of raise(fault)) await dataSource.query(statement)
  }

  it('acquires, refuses and releases a lock', async () => {
    const held = await lock()
    expect(await lock()).toBeUndefined()
    await held?.extend('2m')
    await held?.unlock()
    expect(await lock()).toBeDefined()
  })

  const { notSent, lostRace, unknown } = FAULTS[backend.dialect] ?? onMySql
  const transient = Object.entries(dialects[dialect].transientErrors).filter(([code]) =>
    /^\w{4,5}$/.test(code),
  )
  it.each([
    ...transient.map(([code, reason]) => ({ code, title: `${code}: ${reason}` })),
    ...lostRace.map(titled),
  ])('tries again after error $title', async ({ title: _, ...fault }) => {
    await raiseError({ ...fault, times: 2 })
    expect(await lock('20s')).toBeDefined()
  })

  // One that a statement was answered with, and those of a server that has no room for a connection.
  const inTheEnd = transient.filter(([code], index) => index === 1 || /^(53300|1040)$/.test(code))
  it.each(inTheEnd)('fails in the end if error %s remains: %s', async (code) => {
    await raiseError({ code })
    await expect(lock('3s')).rejects.toEqual(lockError('TIMEOUT', 'too busy'))
  })

  it.each(unknown.map(titled))('does not treat error $title as an answer', async (fault) => {
    await raiseError(fault)
    await expect(lock()).rejects.toEqual(lockError('DATABASE_ERROR', 'The connection to the database failed'))
  })

  for (const fault of notSent) {
    it(`has nothing to release after error ${fault.code} '${fault.message}'`, async () => {
      await raiseError(fault)
      const log = new Log('all')
      const provider = typeOrmLockProvider(await connect({ logger: log, logging: true }), { dialect })
      const failed = provider.lock({ name: 'job', lockAtMostFor: '1m' })
      // A pool without a free connection is reported as one that does not answer.
      const expected = fault.message?.includes('timeout')
        ? lockError('TIMEOUT', 'check whether the connection pool is exhausted')
        : lockError('DATABASE_ERROR', 'The connection to the database failed')
      await expect(failed).rejects.toEqual(expected)
      await provider.drain()
      expect(log.seen.filter((statement) => /^query: (update|with)/.test(statement))).toEqual([])
    })
  }

  describe('on a server that accepts no writes', () => {
    const pool = { poolSize: 1 }
    const session = render(sql`select ${dialects[backend.dialect].table.session ?? sql`0`} as session`)
    const sessionOf = async (client: DataSource): Promise<string> => {
      const [row] = await client.query<{ session: unknown }[]>(session)
      return String(row?.session)
    }

    it.each(Object.keys(dialects[dialect].readOnlyErrors))(
      'acquires a lock on another connection after error %s',
      async (code) => {
        const client = await connect(pool)
        const first = await sessionOf(client)
        await raiseError({ code, onlyIn: first })
        const locks = typeOrmLockProvider(client, { dialect })
        expect(await locks.lock({ name: 'job', lockAtMostFor: '1m' })).toBeDefined()
        expect(await sessionOf(client)).not.toBe(first)
      },
    )

    it('fails in the end, with advice', async () => {
      const [code = ''] = Object.keys(dialects[dialect].readOnlyErrors)
      await raiseError({ code })
      await expect(lock('3s')).rejects.toEqual(
        lockError(
          'DATABASE_ERROR',
          /does not accept writes.*standby or a former primary\. Make the pool connect/,
        ),
      )
    })
  })
})
