import { expect, it } from '@jest/globals'
import type { Duration } from '../../src/core/lock'
import { dialects } from '../../src/sql/dialects'
import type { DialectName } from '../../src/sql/dialect'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { migrated, useDatabase } from '../backends/open-database'
import { everyQuestion } from '../conformance/every-question'
import { observeLockTable } from '../conformance/lock-table-observer'
import { itOn } from '../it-if'
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
const LOST_RACE_ON_MYSQL = {
  code: '1180',
  message: 'Got error 149 - Lock deadlock; Retry transaction, during COMMIT',
}
/** What poolers for PostgreSQL say instead of sending a statement. */
const POOLER_ERRORS = [
  ['server login has been failing, try again later (server_login_retry)', 'DATABASE_ERROR', /failed/],
  ['query_wait_timeout', 'TIMEOUT', /check whether the connection pool is exhausted/],
] as const
const titled = (fault: Fault) => ({ ...fault, title: [fault.code, fault.message].filter(Boolean).join(': ') })

const cases = availableBackends().flatMap((backend) => {
  const raise = RAISE[backend.dialect]
  return raise ? [{ ...backend, raise }] : []
})

/** The number of the server's session. */
const SESSIONS: Readonly<Record<string, string>> = {
  postgres: 'pg_backend_pid()',
  mysql: 'connection_id()',
  mariadb: 'connection_id()',
}

describeBackends(cases)('A server on $name', ({ dialect, raise, ...backend }) => {
  const opened = useDatabase(backend, migrated())
  const job = { name: 'job', lockAtMostFor: '1m' }
  const lock = (timeLimit: Duration = '1s') => typeOrmLockProvider(opened.dataSource, { timeLimit }).lock(job)
  const raiseError = async (fault: Fault): Promise<void> => {
    for (const statement of raise(fault)) await opened.dataSource.query(statement)
  }
  /** And makes the lock free. */
  const stopErrors = async (): Promise<void> => {
    const statements =
      dialect === 'postgres'
        ? ['drop function fail() cascade', 'drop sequence failures']
        : ['drop trigger fail', 'set @failures = 0']
    for (const statement of [...statements, 'delete from shedlock']) await opened.dataSource.query(statement)
  }

  // It is PostgreSQL's, but for what keeps a guarded transaction's row.
  itOn({ dialect }, 'postgres')("takes CockroachDB's dialect", async () => {
    const provider = typeOrmLockProvider(opened.dataSource, { dialect: 'cockroachdb' })
    await everyQuestion(provider, observeLockTable(opened.dataSource, dialect))
  })

  const [lostRace, poolerErrors] = dialect === 'postgres' ? [[], POOLER_ERRORS] : [[LOST_RACE_ON_MYSQL], []]
  // One that a statement was answered with, and those of a server that has no room for a connection.
  const transient = Object.keys(dialects[dialect].transientErrors)
    .filter((code, index) => index === 1 || /^(53300|25P04|1040)$/.test(code))
    .map((code) => ({ code }))
  it.each([...transient, ...lostRace].map(titled))(
    'is asked again after error $title, and fails in the end if it remains',
    async ({ title: _, ...fault }) => {
      await raiseError({ ...fault, times: 2 })
      expect(await lock('20s')).toBeDefined()
      await stopErrors()
      await raiseError(fault)
      await expect(lock('1s')).rejects.toEqual(lockError('TIMEOUT', 'too busy'))
    },
  )

  for (const [message, code, reported] of poolerErrors)
    it(`is not asked to release after a pooler's '${message}'`, async () => {
      await raiseError({ code: '08P01', message })
      const log = new Log('all')
      const client = await opened.connect({ logger: log, logging: true })
      const provider = typeOrmLockProvider(client, { timeLimit: '1s' })
      await expect(provider.lock(job)).rejects.toEqual(lockError(code, reported))
      await provider.drain()
      expect(log.seen.filter((statement) => statement.startsWith('query: update'))).toEqual([])
    })

  it('is left if it accepts no writes, and the lock fails with advice if there is no other', async () => {
    const [code = ''] = Object.keys(dialects[dialect].readOnlyErrors)
    const client = await opened.connect({ poolSize: 1 })
    const session = async (): Promise<unknown> =>
      client.query(`select ${SESSIONS[dialect] ?? '0'} as session`)
    const [first] = (await session()) as { session: unknown }[]
    await raiseError({ code, onlyIn: String(first?.session) })
    const locks = typeOrmLockProvider(client, { ownConnections: 0 })
    await (await locks.lock(job))?.unlock()
    expect(await session()).not.toEqual([first])
    await stopErrors()
    await raiseError({ code })
    await expect(lock('1s')).rejects.toEqual(
      lockError(
        'DATABASE_ERROR',
        /does not accept writes.*if it is a standby or a former primary, make the pool connect/,
      ),
    )
  })
})
