import { expect, it } from '@jest/globals'
import { drivers } from '../../src/drivers/drivers'
import { dialects } from '../../src/sql/dialects'

/** Its code, whether it was sent, and whether the reason lasts. */
type Meaning = readonly [code: string | undefined, isSent: boolean, lasts: boolean]
const UNKNOWN: Meaning = [undefined, true, false]
const UNSENT: Meaning = [undefined, false, false]
const NEVER_SENT: Meaning = [undefined, false, true]
const answered = (code: string): Meaning => [code, true, false]
/** Repeating it helps as soon as another client has left. */
const full = (code: string): Meaning => [code, false, false]

it.each<readonly [keyof typeof drivers, object, Meaning]>([
  ['postgres', { severity: 'ERROR', code: '23505' }, answered('23505')],
  // Names of statements are the client's own here, not the lock's to give up.
  ['postgres', { severity: 'ERROR', code: '26000' }, answered('26000')],
  ...['08006', '40003', '57P01', '57P02', '08P01'].map(
    (code) => ['postgres', { severity: 'ERROR', code }, UNKNOWN] as const,
  ),
  ['postgres', { severity: 'FATAL', code: '57P01' }, UNKNOWN],
  ['postgres', { code: 'ECONNRESET' }, UNKNOWN],
  ...['ECONNREFUSED', 'EAI_AGAIN'].map((code) => ['postgres', { code }, UNSENT] as const),
  ['postgres', { code: 'ENOTFOUND' }, NEVER_SENT],
  // Of PgBouncer.
  ...[
    'server login has been failing',
    'query_wait_timeout',
    'cannot connect to server',
    'client_login_timeout',
    'no more connections allowed',
  ].map((message) => ['postgres', { severity: 'FATAL', code: '08P01', message }, UNSENT] as const),
  ['postgres', { severity: 'ERROR', code: '45000', message: 'query_wait_timeout' }, answered('45000')],
  // Of pg.
  ...[
    'timeout exceeded when trying to connect',
    'Connection terminated due to connection timeout',
    'Client has encountered a connection error and is not queryable',
  ].map((message) => ['postgres', { message }, UNSENT] as const),
  ...[
    'Cannot use a pool after calling end on the pool',
    'SASL: SCRAM-SERVER-FIRST-MESSAGE',
    'The server does not support SSL connections',
  ].map((message) => ['postgres', { message }, NEVER_SENT] as const),
  // Of several addresses.
  ['postgres', { errors: [] }, UNKNOWN],
  ['postgres', { errors: [{ code: 'ECONNREFUSED' }, { code: 'ECONNRESET' }] }, UNKNOWN],
  ['postgres', { errors: [{ code: 'ECONNREFUSED' }, { message: 'connect ETIMEDOUT' }] }, UNSENT],
  ['postgres', { message: 'Cannot serialize' }, UNKNOWN],
  ['postgres', { severity: 'FATAL', code: '28P01' }, ['28P01', false, true]],
  ['postgres', { severity: 'FATAL', code: '53300' }, full('53300')],
  ['sqlite', { code: 'SQLITE_FULL' }, answered('SQLITE_FULL')],
  ['sqlite', { code: 'ERR_SQLITE_ERROR', errcode: 5 }, answered('SQLITE_BUSY')],
  ['sqlite', { code: 'ERR_SQLITE_ERROR', errcode: 1 }, answered('SQLITE_ERROR')],
  // Of the network, of a proxy in front of libsql, and of the app's own code.
  ['sqlite', { code: 'ECONNRESET' }, UNKNOWN],
  ['sqlite', { code: 'HRANA_WEBSOCKET_ERROR' }, UNKNOWN],
  ['sqlite', {}, UNKNOWN],
  ['mysql', { errno: 1213, sqlState: '40001' }, answered('1213')],
  ['mysql', { errno: 1047, sqlState: '08S01' }, answered('1047')],
  ['mysql', { errno: 1053, sqlState: '08S01' }, UNKNOWN],
  ['mysql', { errno: 1180, sqlState: '40001', message: 'Got error 5 - Not connected' }, UNKNOWN],
  ['mysql', { errno: 1040, sqlState: '08004' }, full('1040')],
  ['mysql', { errno: 1203, sqlState: '42000' }, full('1203')],
  ['mysql', { errno: 1226, sqlState: '42000' }, full('1226')],
  ['mysql', { errno: 1045, sqlState: '28000' }, ['1045', false, true]],
  ['mysql', { errno: 1180, sqlState: '40001', message: 'Got error 149' }, answered('1213')],
  ...[1927, 2013, 4031, 45026].map((errno) => ['mysql', { errno, sqlState: 'HY000' }, UNKNOWN] as const),
  ['mysql', { errno: 1158, sqlState: '08S01' }, UNKNOWN],
  ...[45012, 45028, 45061].map((errno) => ['mysql', { errno }, UNSENT] as const),
  ...[45027, 45037].map((errno) => ['mysql', { errno }, NEVER_SENT] as const),
  ...['No connections available.', 'Queue limit reached.'].map(
    (message) => ['mysql', { message }, UNSENT] as const,
  ),
  ['mysql', { message: 'Pool is closed.' }, NEVER_SENT],
  ['mssql', { code: 'EREQUEST', number: 2627, class: 14 }, answered('2627')],
  ['mssql', { code: 'EREQUEST', number: 596, class: 21 }, UNKNOWN],
  ['mssql', { message: 'Failed to acquire a connection from the pool in time' }, UNSENT],
  ['mssql', { name: 'ConnectionError', code: 'ELOGIN' }, NEVER_SENT],
  ['oracle', { code: 'ORA-00001' }, answered('ORA-00001')],
  ['oracle', { code: 'NJS-040' }, UNSENT],
  ...['NJS-064', 'NJS-065'].map((code) => ['oracle', { code }, NEVER_SENT] as const),
  ['oracle', { code: 'NJS-500' }, UNKNOWN],
])('an error of %s is understood: %j', (name, properties, meaning) => {
  const { errorCode, notSent, lasts } = drivers[name]
  const error = Object.assign(new Error('no'), properties)
  expect([errorCode(error), !notSent(error), lasts(error)]).toEqual(meaning)
})

it.each([5, 261, 517, 6, 262, 1555, 2067])(
  'after the code %d of SQLite, a statement is sent again',
  (errcode) => {
    const code = drivers.sqlite.errorCode({ code: 'ERR_SQLITE_ERROR', errcode })
    expect(dialects.sqlite.transientErrors).toHaveProperty(String(code))
  },
)
