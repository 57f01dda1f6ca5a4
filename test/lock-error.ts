import { expect } from '@jest/globals'
import type { LockErrorCode } from '../src/core/errors'

/** Matches an error of the library with this code, and with this in its message. */
export const lockError = (code: LockErrorCode, message: RegExp | string = '') =>
  expect.objectContaining({
    name: 'LockError',
    code,
    message: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  })
