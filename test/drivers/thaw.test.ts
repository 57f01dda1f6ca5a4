import { expect, it } from '@jest/globals'
import { describeBackends } from '../backends'
import { endOtherSessions } from '../backends/server-sessions'
import { everyClient } from '../conformance/every-client'

const clients = everyClient().filter(({ backend }) => ['postgres', 'mariadb', 'mysql'].includes(backend))
const job = { name: 'job', lockAtMostFor: '1h' }

describeBackends(clients)('a process that was frozen, with $title', (each) => {
  it('acquires its first lock, although the server has ended its idle connections', async () => {
    const client = await each.open({}, { poolSize: 3, max: 3, connectionLimit: 3 })
    const provider = client.createProvider()
    const warm = ['one', 'two', 'three'].map((name) => provider.lock({ ...job, name }))
    for (const lock of await Promise.all(warm)) await lock?.unlock()
    // In a timer that is due when this process goes on.
    const locked = new Promise((resolve) => {
      setTimeout(() => {
        resolve(provider.lock(job).catch((error: unknown) => error))
      }, 1)
    })
    expect(endOtherSessions(client.url)).toBe('')
    expect(await locked).toMatchObject({ name: 'job' })
  })
})
