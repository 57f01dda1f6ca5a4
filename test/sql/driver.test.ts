import { expect, it } from '@jest/globals'
import { drivers } from '../../src/drivers/drivers'

/** Its code, whether it was sent, and whether the reason lasts. */
type Meaning = readonly [code: string | undefined, isSent: boolean, lasts: boolean]
const UNKNOWN: Meaning = [undefined, true, false]
const UNSENT: Meaning = [undefined, false, false]
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
  ['postgres', { code: 'ENOTFOUND' }, [undefined, false, true]],
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
])('an error of %s is understood: %j', (name, properties, meaning) => {
  const { errorCode, notSent, lasts } = drivers[name]
  const error = Object.assign(new Error('no'), properties)
  expect([errorCode(error), !notSent(error), lasts(error)]).toEqual(meaning)
})
