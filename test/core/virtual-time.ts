import { beforeEach, expect, jest } from '@jest/globals'
import { afterTest } from '../after-test'

type Options = Parameters<typeof jest.useFakeTimers>[0]

/** Makes time virtual until the test is over. */
export function startVirtualTime(options?: Options): void {
  jest.useFakeTimers(options)
  afterTest(() => jest.useRealTimers())
}

/** Makes time virtual in each test of the file or block that calls this, and checks that the test leaves no timer. */
export function useVirtualTime(options?: Options): void {
  beforeEach(() => {
    jest.useFakeTimers(options)
    afterTest(() => {
      const left = jest.getTimerCount()
      jest.useRealTimers()
      expect(left).toBe(0)
    })
  })
}
