import { expect, test } from '@jest/globals'
import { prisma8NativeCode } from '../../src/prisma/prisma8-native-code'

test.each([
  ['23505', { kind: 'sql_query', sqlState: '23505', cause: { severity: 'ERROR', code: '23505' } }],
  ['42501', { code: 'CONTRACT.MARKER_READ_FAILED', cause: { cause: { severity: 'ERROR', code: '42501' } } }],
  [undefined, { kind: 'sql_query', sqlState: '57P01', cause: { severity: 'FATAL', code: '57P01' } }],
  [undefined, { kind: 'sql_query', sqlState: 'EPIPE', cause: { code: 'EPIPE', syscall: 'write' } }],
  [undefined, { code: 'CONTRACT.MARKER_READ_FAILED', severity: 'error', cause: { code: 'ECONNREFUSED' } }],
  [undefined, { code: 'DRIVER.NOT_CONNECTED', severity: 'error' }],
  [undefined, new Error('timeout exceeded when trying to connect')],
  [undefined, undefined],
])('%s', (expected, error) => {
  expect(prisma8NativeCode(error)).toBe(expected)
})
