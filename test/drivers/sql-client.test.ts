import { describe, expect, it } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { drivers } from '../../src/drivers/drivers'
import { withValues } from '../../src/drivers/mysql2'
import { sqlClient, type RunStatement } from '../../src/drivers/sql-client'
import { isNotPrepared } from '../../src/drivers/statement-names'
import { DriverError, type StatementResult } from '../../src/sql/session'
import { parameter, sql } from '../../src/sql/sql'
import { senderOf } from '../statement-sender'

const statement = sql`update shedlock set lock_until = ${parameter('slot')} where name = ${parameter('name')}`

const sending = (driver: Parameters<typeof sqlClient>[0], run: RunStatement) =>
  senderOf(sqlClient(driver, run))

function answering(answer: StatementResult) {
  return sending(drivers.postgres, () => Promise.resolve(answer))
}

describe('a SQL client', () => {
  it("receives placeholders in the driver's style, with the values separate", async () => {
    const asked: unknown[] = []
    const executor = sending(drivers.postgres, (text, values) => {
      asked.push([text, values])
      return Promise.resolve({ rows: [], changed: 1 })
    })
    await executor.execute(statement, { name: 'job' })
    expect(asked).toEqual([['update shedlock set lock_until = $1 where name = $2', [null, 'job']]])
  })

  it.each([
    ['postgres', "job = convert_from(decode($1, 'hex'), 'UTF8') or job = $2", ['e68aa5e5918a', 'job']],
    ['mysql', "job = _utf8mb4 x'e68aa5e5918a' or job = ?", ['job']],
    ['sqlite', 'job = ? or job = ?', ['报告', 'job']],
  ] as const)('writes non-ASCII text for %s as no character set changes it', async (driver, text, values) => {
    const asked: unknown[] = []
    const executor = sending(drivers[driver], (...[sent, bound]) => {
      asked.push(sent, bound)
      return Promise.resolve({ rows: [], changed: 0 })
    })
    await executor.query(sql`job = ${parameter('name')} or job = ${parameter('lockedBy')}`, {
      name: '报告',
      lockedBy: 'job',
    })
    expect(asked).toEqual([text, values])
  })

  it('writes values into a text for MySQL, but not into a quoted name', () => {
    expect(withValues('select `by?` from t where a = ? and b = ?', ['x', 1])).toBe(
      "select `by?` from t where a = _utf8mb4 x'78' and b = 1",
    )
  })

  it.each([
    ['mysql', { rows: [{ owner: new TextEncoder().encode('报告'), held: 1 }] }, [{ owner: '报告', held: 1 }]],
    // What mssql returns for a batch without a result.
    ['mssql', {}, []],
  ] as const)('of %s reads bytes as text, and no rows as none: %j', async (name, answer, rows) => {
    const client = sending(drivers[name], () => Promise.resolve(answer as unknown as StatementResult))
    expect(await client.query(statement, {})).toEqual(rows)
  })

  it.each([
    [0, 0],
    [1, 1],
    [1n, 1],
    [null, NaN],
    [undefined, NaN],
  ])('reads a count of %s as %s', async (changed, count) => {
    expect(await answering({ rows: [], changed }).execute(statement, {})).toBe(count)
  })

  it.each([
    [
      { severity: 'ERROR', code: '23505' },
      { code: '23505', sent: true },
    ],
    [
      { severity: 'FATAL', code: '28P01' },
      { code: '28P01', sent: false, lasts: true },
    ],
  ])('rejects with the code of %s, and whether it was sent', async (properties, meaning) => {
    const cause = Object.assign(new Error('no'), properties)
    const failing = sending(drivers.postgres, () => Promise.reject(cause))
    await expect(failing.query(statement, {})).rejects.toMatchObject({
      name: 'DriverError',
      ...meaning,
      cause,
    })
  })

  it('passes on what a client says of itself', () => {
    const asked = () => 'asked'
    const own = {
      pool: {},
      server: 'db:1',
      keepsOne: true,
      schema: asked,
      source: asked,
      unusable: () => undefined,
    }
    const dropReadOnly = () => Promise.resolve('dropped')
    const client = sqlClient(drivers.postgres, {
      ...own,
      dropReadOnly,
      connect: () => Promise.reject(new Error()),
    })
    expect(client).toMatchObject({ pool: own.pool, server: 'db:1', keepsOne: true, open: undefined })
    expect([client.schema?.(), client.source?.()]).toEqual(['asked', 'asked'])
    expect(client).toMatchObject({ unusable: expect.any(Function), dropReadOnly: expect.any(Function) })
  })

  it('knows that nothing was sent if no session could be opened, whatever the error is', async () => {
    const client = sqlClient(drivers.postgres, { connect: () => Promise.reject(new Error('any')) })
    await expect(client.connect()).rejects.toMatchObject({ sent: false, lasts: false })
  })

  it.each([new DriverError('40001', new Error('no')), new LockError('INVALID_CLIENT', 'no')])(
    'does not change an error whose meaning the client has already determined: %s',
    async (error) => {
      const failing = sending(drivers.postgres, () => Promise.reject(error))
      await expect(failing.query(statement, {})).rejects.toBe(error)
    },
  )
})

it.each([
  [true, { severity: 'ERROR', code: '26000' }],
  [true, { severity: 'ERROR', code: '42P05' }],
  [true, { severity: 'ERROR', code: '0A000', routine: 'RevalidateCachedQuery' }],
  // PgBouncer and pg.
  [true, { severity: 'ERROR', code: '08P01', message: 'prepared statement did not exist' }],
  [true, { message: 'Prepared statements must be unique' }],
  ...[1243, 1295, 1461, 1615].map((errno) => [true, { errno }] as const),
  [false, { severity: 'ERROR', code: '0A000', message: 'prepared statement', routine: 'another' }],
  [false, { severity: 'ERROR', code: '08P01', message: 'unexpected message type' }],
  [false, { severity: 'ERROR', code: '40001', message: 'prepared statement' }],
  [false, { severity: 'ERROR', message: 'prepared statement' }],
  [false, { code: 'ECONNRESET', message: 'prepared statement' }],
  [false, { code: '08P01', message: 'prepared statement' }],
  [false, { errno: 1213 }],
] as const)('that a statement could not be prepared, and had no effect, is %s of %j', (expected, error) => {
  expect(isNotPrepared(error)).toBe(expected)
})
