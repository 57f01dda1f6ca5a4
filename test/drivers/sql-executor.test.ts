import { describe, expect, it } from '@jest/globals'
import { drivers, sqlExecutor, type Answer } from '../../src/drivers'
import { DriverError, parameter, sql } from '../../src/sql'

const statement = sql`update shedlock set lock_until = ${parameter('slot')} where name = ${parameter('name')}`

function answering(answer: Answer) {
  return sqlExecutor(drivers.postgres, () => Promise.resolve(answer))
}

describe('an executor for a client', () => {
  it("is asked in the driver's words, with the values apart", async () => {
    const asked: unknown[] = []
    const executor = sqlExecutor(drivers.postgres, (text, values) => {
      asked.push([text, values])
      return Promise.resolve({ rows: [], changed: 1 })
    })
    await executor.execute(statement, { name: 'job' })
    expect(asked).toEqual([['update shedlock set lock_until = $1 where name = $2', [null, 'job']]])
  })

  it.each([
    [0, 0],
    [1, 1],
    [1n, 1],
    [null, NaN],
    [undefined, NaN],
  ])('takes a count of %p for %p', async (changed, count) => {
    expect(await answering({ rows: [], changed }).execute(statement, {})).toBe(count)
  })

  it.each([
    [{ severity: 'ERROR', code: '23505' }, '23505'],
    // Names of statements are the client's own here, not the lock's to give up.
    [{ severity: 'ERROR', code: '26000' }, '26000'],
    [{ severity: 'FATAL', code: '57P01' }, undefined],
    [{ code: 'ECONNRESET' }, undefined],
  ])('tells the code of %p', async (properties, code) => {
    const error = Object.assign(new Error('no'), properties)
    const failing = sqlExecutor(drivers.postgres, () => Promise.reject(error))
    await expect(failing.query(statement, {})).rejects.toMatchObject({
      name: 'DriverError',
      code,
      cause: error,
    })
  })

  it('leaves an error alone whose code the client has found itself', async () => {
    const error = new DriverError('40001', new Error('no'))
    const failing = sqlExecutor(drivers.postgres, () => Promise.reject(error))
    await expect(failing.query(statement, {})).rejects.toBe(error)
  })
})
