import { afterAll, afterEach } from '@jest/globals'

type Close = () => unknown

const ofTest: Close[] = []
const ofFile: Close[] = []

async function closeAll(closers: Close[]): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}

/** Does it after the test, the latest first. Not for concurrent tests: Jest runs no hook for them. */
export function afterTest(close: Close): void {
  ofTest.push(close)
}

/** Does it after all tests of the file, for what `beforeAll` makes. */
export function afterFile(close: Close): void {
  ofFile.push(close)
}

/**
 * Called in a `describe`: does it after its tests, for what its `beforeAll` opens. A hook of its own would fail after a failed
 * `beforeAll`, and hide why that failed.
 */
export function afterBlock(): typeof afterTest {
  const ofBlock: Close[] = []
  afterAll(() => closeAll(ofBlock))
  return (close) => void ofBlock.push(close)
}

afterEach(() => closeAll(ofTest))
afterAll(() => closeAll(ofFile))
