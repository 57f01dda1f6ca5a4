import { afterEach, beforeEach, expect, jest } from '@jest/globals'

/** Makes time virtual in each test of the file or block that calls this, and checks that the test leaves no timer. */
export function useVirtualTime(): void {
  beforeEach(() => {
    jest.useFakeTimers()
  })
  afterEach(() => {
    expect(jest.getTimerCount()).toBe(0)
    jest.useRealTimers()
  })
}
