import { afterEach, beforeEach, expect, jest } from '@jest/globals'

/** In each test of the file or block that calls this, time is virtual, and at its end no timer is left. */
export function useVirtualTime(): void {
  beforeEach(() => {
    jest.useFakeTimers()
  })
  afterEach(() => {
    expect(jest.getTimerCount()).toBe(0)
    jest.useRealTimers()
  })
}
