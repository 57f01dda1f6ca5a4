import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { keepAlive } from '../../src/core/keep-alive'
import { Deadline, inTime, Lease, sleep, time, whenAborted, whenOver } from '../../src/core/time'
import { startVirtualTime } from './virtual-time'

const HOUR = 3_600_000
const nothing = (): void => undefined

beforeEach(() => startVirtualTime())

describe('a timer', () => {
  const { signal } = new AbortController()
  const late = () => new Error('late')

  it.each<[string, boolean, () => unknown]>([
    ['keeps the process alive if asked to', true, () => time.after(HOUR, nothing, true)],
    ['does not if asked not to', false, () => time.after(HOUR, nothing, false)],
    ['of a sleep keeps the process alive', true, () => sleep(HOUR, signal)],
    ['of work with a limit keeps the process alive', true, () => inTime(sleep(1), HOUR, late)],
    ['of work in the background does not', false, () => inTime(sleep(1), HOUR, late, false)],
    ['of a lease does not', false, () => whenOver(() => HOUR, nothing)],
  ])('%s', (_, keepsAlive, start) => {
    const timers = jest.spyOn(globalThis, 'setTimeout')
    void start()
    const timer = timers.mock.results.at(-1)?.value as NodeJS.Timeout
    expect(timer.hasRef()).toBe(keepsAlive)
  })

  it('may be a number, as in some runtimes', () => {
    jest.spyOn(globalThis, 'setTimeout').mockReturnValue(7 as never)
    const clear = jest.spyOn(globalThis, 'clearTimeout').mockReturnValue()
    time.after(1, nothing, false)()
    expect(clear).toHaveBeenCalledWith(7)
  })
})

it.each([
  [0, 50],
  [0.5, 75],
  [0.9, 95],
])('of an interval, half is fixed and half is random: %d', (random, expected) => {
  jest.spyOn(Math, 'random').mockReturnValue(random)
  expect(time.jittered(100)).toBe(expected)
})

it('what waits for the end of a time that is over is called at once, for one longer than any timer not, and a lock is not extended then', () => {
  const over = jest.fn()
  whenOver(() => 0, over)()
  time.after(2 ** 31, over, false)
  jest.advanceTimersByTime(HOUR)
  expect(over).toHaveBeenCalledTimes(1)
  const extend = jest.fn(() => new Promise<never>(() => undefined))
  keepAlive({ remaining: () => 0, extend }, HOUR)
  expect(extend).not.toHaveBeenCalled()
})

it('a lease of another length has the same beginning, also a second time', () => {
  const lease = new Lease(HOUR)
  jest.advanceTimersByTime(10_000)
  expect(lease.lasting(20_000).lasting(30_000).remaining()).toBe(20_000)
})

it('a deadline that a process missed because it stood still is later by as long, and by its limit in all', () => {
  const deadline = new Deadline(1_000)
  const passed = [1_300, 100, 5_000, 701].map((milliseconds) => {
    jest.advanceTimersByTime(milliseconds)
    return deadline.takeLeft()
  })
  expect(passed).toEqual([300, 200, 700, 0])
})

it('one of several that wait for a signal can leave', () => {
  const controller = new AbortController()
  const [left, waiting] = [jest.fn(), jest.fn()]
  const leave = whenAborted(controller.signal, left)
  whenAborted(controller.signal, waiting)
  leave()
  controller.abort()
  expect([left, waiting].map(({ mock }) => mock.calls.length)).toEqual([0, 1])
})

it('a sleep whose signal has aborted does not begin, and one whose signal aborts leaves no timer', async () => {
  await sleep(HOUR, new AbortController().signal, AbortSignal.abort())
  expect(jest.getTimerCount()).toBe(0)
  const controller = new AbortController()
  const sleeping = sleep(HOUR, controller.signal)
  controller.abort()
  await sleeping
  expect(jest.getTimerCount()).toBe(0)
})

it('a deadline is no later because a wait was to leave more time than there was', async () => {
  const deadline = new Deadline(1_000)
  const { end } = deadline
  await jest.advanceTimersByTimeAsync(900)
  const wait = expect(deadline.wait(sleep(HOUR), () => new Error('late'), 200)).rejects.toThrow('late')
  await jest.advanceTimersByTimeAsync(1)
  await wait
  expect(deadline.end).toBe(end)
})
