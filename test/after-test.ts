import { afterEach } from '@jest/globals'

const closers: (() => unknown)[] = []

/** Does it after the test, the latest first. Not for concurrent tests: Jest runs no hook for them. */
export function afterTest(close: () => unknown): void {
  closers.push(close)
}

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
