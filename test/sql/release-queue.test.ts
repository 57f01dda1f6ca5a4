import { expect, it, jest } from '@jest/globals'
import { time } from '../../src/core/internal'
import { ReleaseQueue } from '../../src/sql/release-queue'
import { startVirtualTime } from '../core/virtual-time'

it('releases have one timer together, and one that is dropped while it is sent is not sent again', async () => {
  startVirtualTime()
  const queue = new ReleaseQueue()
  const send = jest.fn(async (): Promise<boolean> => {
    release.drop()
    // Without a pause, nothing else would ever have its turn.
    return send.mock.calls.length < 5 || new Promise(() => undefined)
  })
  const release = { due: time.now() + 1_000, send, drop: () => queue.delete(release) }
  queue.add(release)
  queue.schedule()
  expect(jest.getTimerCount()).toBe(1)
  await jest.advanceTimersByTimeAsync(2_000)
  expect(send).toHaveBeenCalledTimes(1)
})
