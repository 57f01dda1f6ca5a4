import type { WriteStream } from 'node:tty'
import { expect, it } from '@jest/globals'
import { terminalWidth } from '../../src/cli/layout'

it.each([
  [{ isTTY: true, columns: 120 }, 120],
  // Some terminals report no size.
  [{ isTTY: true, columns: 0 }, 80],
  [{ isTTY: false, columns: 120 }, Infinity],
])('the width of %j is %d', (stream, width) => {
  expect(terminalWidth(stream as WriteStream)).toBe(width)
})
