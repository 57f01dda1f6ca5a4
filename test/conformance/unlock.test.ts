import { expect, it } from '@jest/globals'
import { dialects, DriverError, SqlLockProvider } from '../../src/sql/internal'
import { everyClient, openedClient } from './every-client'
import { describeBackends } from '../backends'
import { clientOf } from '../statement-sender'
import { isWrite } from './postal-sql-executor'

describeBackends(everyClient())('an unlock by $title', (each) => {
  const client = openedClient(each)

  it('ends what the holder trusts, also when the database refuses it, and may then be called again', async () => {
    const { executor, table } = client
    let refuses = false
    const refusal = () => Promise.reject(new DriverError('refused', 'no space left'))
    const provider = new SqlLockProvider(
      clientOf({
        query: (...all) => (refuses && isWrite(all[0]) ? refusal() : executor.query(...all)),
        execute: (...all) => (refuses ? refusal() : executor.execute(...all)),
      }),
      dialects[each.dialect],
    )
    const lock = await provider.lock({ name: 'refused', lockAtMostFor: '1h' })
    refuses = true
    await expect(lock?.unlock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
    expect(lock?.remaining()).toBe(0)
    await expect(lock?.extend('2h')).rejects.toMatchObject({ code: 'NOT_LOCKED' })
    expect(await table.isHeld('refused')).toBe(true)
    refuses = false
    await lock?.unlock()
    expect(await table.isHeld('refused')).toBe(false)
    await lock?.unlock()
    // The release in the background, which would make Prisma connect again after it has disconnected.
    await provider.drain()
  })
})
