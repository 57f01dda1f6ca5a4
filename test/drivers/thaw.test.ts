import { expect, it } from '@jest/globals'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { describeBackends } from '../backends'
import { endOtherSessions } from '../backends/server-sessions'
import { everyClient } from '../conformance/every-client'

const clients = everyClient().filter(({ backend }) => ['postgres', 'mariadb', 'mysql'].includes(backend))
const job = { name: 'job', lockAtMostFor: '1h' }

/** Acquires a lock, or returns why not, in a timer that is due when this process goes on. */
const lockInTimer = (provider: SqlLockProvider, name: string): Promise<unknown> =>
  new Promise((resolve) => {
    setTimeout(() => {
      resolve(provider.lock({ ...job, name }).catch((error: unknown) => error))
    }, 1)
  })

describeBackends(clients)('a process that was frozen, with $title', (each) => {
  it('acquires its first lock, although the server has ended its idle connections', async () => {
    const client = await each.open({}, { poolSize: 3, max: 3, connectionLimit: 3 })
    const provider = client.createProvider()
    const warm = ['one', 'two', 'three'].map((name) => provider.lock({ ...job, name }))
    for (const lock of await Promise.all(warm)) await lock?.unlock()
    const locked = lockInTimer(provider, 'job')
    expect(endOtherSessions(client.url)).toBe('')
    expect(await locked).toMatchObject({ name: 'job' })
  })

  it('acquires a lock, although another timer blocks the event loop for longer than the time limit', async () => {
    const client = await each.open()
    await (await client.createProvider().lock(job))?.unlock()
    const provider = client.createProvider({ timeLimit: '1s' })
    // The first one checks the table, too.
    for (const name of ['first', 'second']) {
      const locked = lockInTimer(provider, name)
      setTimeout(() => {
        const end = Date.now() + 2_000
        while (Date.now() < end);
      }, 1)
      expect(await locked).toMatchObject({ name })
    }
  })
})
