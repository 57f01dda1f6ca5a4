import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { dialects, SqlLockProvider } from '../../src/sql/internal'
import { eventually } from '../eventually'
import { PostalSqlExecutor } from './postal-sql-executor'
import { everyClient, openedClient } from './every-client'
import { describeBackends } from '../backends'

const LEASE = 1_000

// A whole statement is late, whatever client sends it: one for each database is enough.
const clients = everyClient().filter(({ orm }) => orm === 'TypeORM')

describeBackends(clients)('a lock that comes too late by $title', (each) => {
  const client = openedClient(each)

  /** Takes a lock whose lease is over on the holder's side when the database hears of it. */
  const lockTooLate = async (name: string, timeLimit: string): Promise<PostalSqlExecutor> => {
    const post = new PostalSqlExecutor(client.executor)
    const provider = new SqlLockProvider(post, dialects[each.dialect], { timeLimit })
    // The row is there, so that the next take is one statement on every database.
    await (await provider.lock({ name, lockAtMostFor: '1h' }))?.unlock()
    post.sent = 0
    post.next = 'late'
    const refused = expect(provider.lock({ name, lockAtMostFor: LEASE })).rejects.toMatchObject({
      code: 'TIMEOUT',
      lockName: name,
    })
    // The lease begins when the statement is sent that would acquire the lock.
    await eventually(() => expect(post.sent).toBeGreaterThan(0))
    await sleep(LEASE)
    await post.deliver('late')
    await refused
    return post
  }

  it.each([
    ['whose answer came after its lease was over', '1m'],
    ['that was given up, and taken after its lease was over', '900ms'],
  ])('%s is given back', async (title, timeLimit) => {
    const post = await lockTooLate(title, timeLimit)
    // One statement took it, and another one freed it.
    await eventually(() => expect(post.sent).toBeGreaterThan(1), { timeout: 5_000 })
    await eventually(async () => expect(await client.table.isHeld(title)).toBe(false))
  })
})
