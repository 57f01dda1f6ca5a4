import { beforeEach, expect, it, jest } from '@jest/globals'
import { LockError, type LockErrorCode } from '../../src/core/errors'
import { untilAnswered } from '../../src/core/until-answered'
import { useVirtualTime } from './virtual-time'

const MINUTE = 60_000

useVirtualTime({ now: 0 })

let attempts: number[]
beforeEach(() => {
  jest.spyOn(Math, 'random').mockReturnValue(1)
  attempts = []
})

/** An attempt that fails the first times. */
const failing = (times: number, code: LockErrorCode) => (): Promise<string> =>
  attempts.push(Date.now() / 1_000) > times
    ? Promise.resolve('answer')
    : Promise.reject(new LockError(code, `attempt ${attempts.length}`))

it.each(['TIMEOUT', 'DATABASE_ERROR'] as const)(
  'after %s it tries again, at first soon and then every half a minute',
  async (code) => {
    const answer = untilAnswered(failing(9, code), { atMost: 10 * MINUTE })
    await jest.advanceTimersByTimeAsync(5 * MINUTE)
    expect(await answer).toBe('answer')
    expect(attempts).toEqual([0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5, 121.5])
  },
)

it('throws the last error at the end, or when the signal aborts', async () => {
  const stop = new AbortController()
  const failed = expect(untilAnswered(failing(9, 'TIMEOUT'), { atMost: 1_000 })).rejects.toThrow('attempt 3')
  await jest.advanceTimersByTimeAsync(1_000)
  await failed
  const stopped = untilAnswered(failing(9, 'TIMEOUT'), { atMost: MINUTE, signal: stop.signal })
  stop.abort()
  await expect(stopped).rejects.toThrow('attempt 4')
})

it.each(['TABLE_MISSING', 'TABLE_MISMATCH', 'INVALID_CLIENT', 'LOCK_LOST'] as const)(
  'does not repeat after %s',
  async (code) => {
    await expect(untilAnswered(failing(1, code), { atMost: MINUTE })).rejects.toMatchObject({ code })
    expect(attempts).toEqual([0])
  },
)
