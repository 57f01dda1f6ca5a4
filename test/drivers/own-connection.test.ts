import { EventEmitter } from 'node:events'
import { beforeEach, expect, it, jest } from '@jest/globals'
import timers from 'node:timers'
import type * as ownConnection from '../../src/drivers/own-connection'
import { opened, readSockets } from '../../src/drivers/own-connection'
import { startVirtualTime } from '../core/virtual-time'

beforeEach(() => startVirtualTime())

it("a connection of the lock's own is given up if it, or a hook of the app, does not connect in time", async () => {
  const destroy = jest.fn()
  const end = jest.fn()
  const silent = () => new Promise<void>(() => undefined)
  const connected = opened(new EventEmitter(), silent, {
    wire: { stream: { destroy } as never },
    close: end,
    end,
  })
  const late = expect(connected).rejects.toThrow('timeout: the connection was not opened in time')
  await jest.advanceTimersByTimeAsync(2_000)
  await late
  expect(destroy).toHaveBeenCalledTimes(1)
  expect(end).toHaveBeenCalledTimes(1)
})

it.each(['error', 'end'])(
  'a connection is not used after its %s, and closes if its host is silent',
  async (event) => {
    const connection = new EventEmitter()
    const stream = { destroy: jest.fn(), ref: jest.fn(), unref: jest.fn() }
    const session = await opened(connection, () => Promise.resolve(), {
      wire: { stream: stream as never },
      close: () => new Promise(() => undefined),
      end: () => undefined,
    })
    session.rest?.()
    expect(await session.wake?.()).toBe(true)
    connection.emit(event)
    expect(await session.wake?.()).toBe(false)
    expect([stream.unref, stream.ref].map(({ mock }) => mock.calls.length)).toEqual([1, 2])
    void session.release?.()
    expect(stream.unref).toHaveBeenCalledTimes(2)
    await jest.advanceTimersByTimeAsync(1_000)
    expect(stream.destroy).toHaveBeenCalledTimes(1)
  },
)

it('a lock reads its sockets under the fake timers of a test runner, which stand still', async () => {
  const fake = jest.spyOn(timers, 'setImmediate').mockImplementation(() => undefined as never)
  await readSockets()
  expect(fake).not.toHaveBeenCalled()
})

it('a lock reads its sockets in Next.js 16.1, whose setImmediate of node:timers/promises calls itself', async () => {
  jest.doMock('node:timers/promises', () => ({ setImmediate: () => Promise.reject(new RangeError()) }))
  let inNext: typeof ownConnection | undefined
  jest.isolateModules(() => {
    inNext = jest.requireActual('../../src/drivers/own-connection')
  })
  await inNext?.readSockets()
})
