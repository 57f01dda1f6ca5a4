import { describe, expect, it } from '@jest/globals'
import { dialects, SqlLockProvider } from '../../src/sql/internal'
import { describeBackends } from '../backends'
import { everyClient, openedClient } from '../conformance/every-client'
import { read } from '../project'
import { UnreliableClient } from '../unreliable-client'

const PROMISE = /Round trips: 1 if it is refused, (\d) if its row is free, (\d) if it has no row yet/

describeBackends(everyClient())('$title takes the round trips that test/sql/golden names', (each) => {
  const client = openedClient(each)

  describe.each([
    { kind: 'without a slot', section: '---- acquire\n', slots: [undefined, undefined] },
    { kind: 'with a slot', section: '---- acquireSlot\n', slots: [1_000, 2_000] },
  ])('for a lock $kind', ({ kind, section, slots: [first, second] }) => {
    it('when it has no row, is held, is free, and is released', async () => {
      const golden = read(`test/sql/golden/${each.dialect === 'mariadb' ? 'mysql' : each.dialect}.sql`)
      const [, free, inserted] = PROMISE.exec(golden.slice(golden.indexOf(section))) ?? []
      const network = new UnreliableClient(client.sqlClient)
      const provider = new SqlLockProvider(network, dialects[each.dialect], { timeLimit: '1m' })
      let trips = 0
      network.fault = (send) => {
        trips++
        return send()
      }
      const count = async <T>(work: Promise<T>): Promise<[trips: number, value: T]> => {
        const before = trips
        const value = await work
        return [trips - before, value]
      }
      const name = `job ${kind}`
      const job = (slot?: number) => ({ name, lockAtMostFor: '1h', ...(slot !== undefined && { slot }) })
      // The first lock of a provider checks the table.
      await (await provider.lock({ name: 'other', lockAtMostFor: '1h' }))?.unlock()

      const [whenInserted, lock] = await count(provider.lock(job(first)))
      const [whenHeld, refused] = await count(provider.lock(job(second)))
      const [whenReleased] = await count(lock?.unlock() ?? Promise.resolve())
      const [whenFree, next] = await count(provider.lock(job(second)))
      expect({ whenInserted, whenHeld, whenReleased, whenFree }).toEqual({
        ...{ whenInserted: Number(inserted), whenFree: Number(free) },
        ...{ whenHeld: 1, whenReleased: 1 },
      })
      expect([lock !== undefined, refused, next !== undefined]).toEqual([true, undefined, true])
      await next?.unlock()
      if (second !== undefined) expect(await count(provider.lock(job(second)))).toEqual([1, undefined])
    })
  })
})
