import { describe, expect, it } from '@jest/globals'
import { dialects, SqlLockProvider } from '../../src/sql/internal'
import { describeBackends } from '../backends'
import { everyClient, openedClient } from '../conformance/every-client'
import { clientOf, type StatementSender } from '../statement-sender'

/** Sends each statement a second time: at once, as a layer below does when it lost the first answer, or when `late` is called. */
const twice = (sender: StatementSender, late?: (() => Promise<unknown>)[]): StatementSender => {
  const again = async <T>(send: () => Promise<T>): Promise<T> => {
    const answer = await send()
    late?.push(send)
    return late ? answer : send()
  }
  return {
    execute: (...statement) => again(() => sender.execute(...statement)),
    query: (...statement) => again(() => sender.query(...statement)),
  }
}

// Not about an ORM.
const clients = everyClient().filter(({ orm }) => orm === 'TypeORM')

describeBackends(clients)('$title, where each statement is sent twice', (each) => {
  const client = openedClient(each)
  const provider = () => new SqlLockProvider(clientOf(twice(client.executor)), dialects[each.dialect])
  const isFree = async (name: string) => {
    const lock = await client.createProvider().lock({ name, lockAtMostFor: '1h' })
    await lock?.unlock()
    return lock !== undefined
  }

  describe.each(['without a slot', 'with a slot'])('a lock %s', (slots) => {
    const configuration = (name: string, ago: number) => ({
      name: `${name} ${slots}`,
      lockAtMostFor: '1h',
      ...(slots === 'with a slot' && { slot: new Date(Date.now() - ago) }),
    })

    it('is acquired and released, when it is new and when it is known', async () => {
      for (const ago of [20_000, 10_000, 0]) {
        const job = configuration('job', ago)
        const lock = await provider().lock(job)
        expect(lock).toBeDefined()
        expect(await isFree(job.name)).toBe(false)
        expect(await provider().lock(job)).toBeUndefined()
        await lock?.unlock()
        expect(await client.table.isHeld(job.name)).toBe(false)
      }
    })

    it('keeps its lease while a late copy of its acquisition arrives', async () => {
      const late: (() => Promise<unknown>)[] = []
      const remembering = clientOf(twice(client.executor, late))
      const job = { ...configuration('late', 0), lockAtMostFor: '5m' }
      const lock = await new SqlLockProvider(remembering, dialects[each.dialect]).lock(job)
      const copies = late.splice(0)
      await lock?.extend('1h')
      const before = await client.table.findRow(job.name)
      for (const copy of copies) await copy().catch(() => undefined)
      expect((await client.table.findRow(job.name))?.lockUntil).toEqual(before?.lockUntil)
      await lock?.unlock()
    })
  })

  it('acquires a slot again whose run failed', async () => {
    const job = { name: 'again', lockAtMostFor: '1h', slot: new Date(), untilSucceeded: true }
    const failed = await provider().lock(job)
    const token = Number(await failed?.fencingToken())
    await failed?.unlock({ outcome: 'failed' })
    const lock = await provider().lock(job)
    expect(lock).toBeDefined()
    expect(await lock?.fencingToken()).toBeGreaterThan(token)
    await lock?.unlock({ outcome: 'succeeded' })
    expect(await provider().lock(job)).toBeUndefined()
  })

  it('pauses, resumes and releases', async () => {
    const { table } = provider()
    const name = 'paused'
    expect(await table.pause(name, { duration: '1h', reason: 'test' })).toBe(true)
    await table.resume(name)
    const lock = await client.createProvider().lock({ name, lockAtMostFor: '1h' })
    const token = await lock?.fencingToken()
    await lock?.unlock()
    expect(await table.pause(name, { duration: '1h', reason: 'test' })).toBe(true)
    expect((await table.find(name))?.lockedAt.getTime()).toBe(token)
    await table.resume(name)
    expect(await isFree(name)).toBe(true)
  })
})
