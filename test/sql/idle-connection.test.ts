import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { idleConnection } from '../../src/sql/idle-connection'
import { useVirtualTime } from '../core/virtual-time'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { temporaryFolder } from '../temporary-folder'

useVirtualTime()

describe('the connection to a SQLite file', () => {
  const path = join(temporaryFolder(), 'locks.sqlite')
  let opened: number
  let closed: number[]
  let unreachable: Error | undefined
  let use: ReturnType<typeof idleConnection<number>>

  beforeEach(() => {
    writeFileSync(path, '')
    opened = 0
    closed = []
    unreachable = undefined
    use = idleConnection<number>(
      () => (unreachable ? Promise.reject(unreachable) : Promise.resolve(++opened)),
      (connection) => closed.push(connection),
    )
  })

  /** Uses the connection until `end` or `fail` is called. */
  function begin() {
    const work = promiseWithResolvers<number | Promise<never>>()
    const used = use(path, async (connection) => {
      await work.promise
      return connection
    })
    used.catch(() => undefined)
    return { used, end: () => work.resolve(0), fail: () => work.resolve(Promise.reject(new Error('broken'))) }
  }
  const idle = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds)

  it('is shared, and closed once nothing has used it for a second', async () => {
    const [one, two] = [begin(), begin()]
    one.end()
    two.end()
    expect(await Promise.all([one.used, two.used])).toEqual([1, 1])
    expect(jest.getTimerCount()).toBe(1)
    await idle(999)
    const later = begin()
    await idle(5_000)
    later.end()
    expect(await later.used).toBe(1)
    await idle(999)
    expect(closed).toEqual([])
    await idle(1)
    expect(closed).toEqual([1])
  })

  it('that could not be opened is opened again', async () => {
    unreachable = new Error('locked')
    await expect(begin().used).rejects.toBe(unreachable)
    unreachable = undefined
    const again = begin()
    again.end()
    expect(await again.used).toBe(1)
    await idle(1_000)
    expect(closed).toEqual([1])
  })

  it('is replaced after a failure, and closed after its last use', async () => {
    const [one, two] = [begin(), begin()]
    one.fail()
    await expect(one.used).rejects.toThrow('broken')
    const next = begin()
    next.end()
    expect(await next.used).toBe(2)
    expect(closed).toEqual([])
    two.end()
    expect(await two.used).toBe(1)
    await idle(0)
    expect(closed).toEqual([1])
    await idle(1_000)
    expect(closed).toEqual([1, 2])
  })

  it('is replaced with its file, and a failure of the old one keeps the new one', async () => {
    const old = begin()
    const other = `${path}.new`
    writeFileSync(other, '')
    renameSync(other, path)
    const next = begin()
    next.end()
    expect(await next.used).toBe(2)
    old.fail()
    await expect(old.used).rejects.toThrow('broken')
    await idle(0)
    expect(closed).toEqual([1])
    const last = begin()
    last.end()
    expect(await last.used).toBe(2)
    await idle(1_000)
    expect(closed).toEqual([1, 2])
  })
})
