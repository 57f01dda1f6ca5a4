import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { idleConnection } from '../../src/sql/internal'
import { promiseWithResolvers } from '../promise-with-resolvers'

describe('a connection of our own', () => {
  beforeEach(() => {
    jest.useFakeTimers()
  })
  afterEach(() => {
    jest.useRealTimers()
  })

  function connections() {
    const log: string[] = []
    let count = 0
    const open = () => {
      log.push(`open ${++count}`)
      return Promise.resolve(count)
    }
    return { log, use: idleConnection(open, (connection) => log.push(`close ${connection}`)) }
  }

  it('is opened once for many uses', async () => {
    const { log, use } = connections()
    await Promise.all([use(() => undefined), use(() => undefined)])
    await jest.advanceTimersByTimeAsync(9_000)
    await use(() => undefined)
    await jest.advanceTimersByTimeAsync(9_000)
    expect(log).toEqual(['open 1'])
  })

  it('is closed after ten idle seconds, and opened again when it is needed', async () => {
    const { log, use } = connections()
    await use(() => undefined)
    await jest.advanceTimersByTimeAsync(10_000)
    expect(await use((connection) => connection)).toBe(2)
    expect(log).toEqual(['open 1', 'close 1', 'open 2'])
  })

  it('stays open while it is used, however long that takes', async () => {
    const { log, use } = connections()
    await use(() => undefined)
    const ended = promiseWithResolvers()
    const long = use(() => ended.promise)
    await jest.advanceTimersByTimeAsync(60_000)
    expect(log).toEqual(['open 1'])
    ended.resolve()
    await long
    await jest.advanceTimersByTimeAsync(10_000)
    expect(log).toEqual(['open 1', 'close 1'])
  })

  it('is tried again when it could not be opened', async () => {
    let fails = true
    const use = idleConnection(
      () => (fails ? Promise.reject(new Error('no such file')) : Promise.resolve('open')),
      () => undefined,
    )
    await expect(use((connection) => connection)).rejects.toThrow('no such file')
    fails = false
    expect(await use((connection) => connection)).toBe('open')
  })
})
