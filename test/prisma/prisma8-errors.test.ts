import { expect, test } from '@jest/globals'
import { prisma8Code, prisma8NotSent } from '../../src/prisma/prisma8/sql-executor'

const MARKER_READ_FAILED = { code: 'CONTRACT.MARKER_READ_FAILED', severity: 'error' }

test.each([
  ['23505', { kind: 'sql_query', sqlState: '23505', cause: { severity: 'ERROR', code: '23505' } }],
  ['42501', { code: 'CONTRACT.MARKER_READ_FAILED', cause: { cause: { severity: 'ERROR', code: '42501' } } }],
  [undefined, { kind: 'sql_query', sqlState: '57P01', cause: { severity: 'FATAL', code: '57P01' } }],
  [undefined, { kind: 'sql_query', sqlState: 'EPIPE', cause: { code: 'EPIPE', syscall: 'write' } }],
  [undefined, { ...MARKER_READ_FAILED, cause: { code: 'ECONNREFUSED' } }],
  [undefined, { code: 'DRIVER.NOT_CONNECTED', severity: 'error' }],
  [undefined, new Error('timeout exceeded when trying to connect')],
  [undefined, undefined],
])('%s', (expected, error) => {
  expect(prisma8Code(error)).toBe(expected)
})

test.each([
  [true, { ...MARKER_READ_FAILED, cause: { code: 'ECONNREFUSED' } }],
  [true, { kind: 'sql_query', sqlState: '57P03', cause: { severity: 'FATAL', code: '57P03' } }],
  [true, new Error('timeout exceeded when trying to connect')],
  [false, { kind: 'sql_query', sqlState: '57P01', cause: { severity: 'FATAL', code: '57P01' } }],
  [false, { kind: 'sql_query', sqlState: 'EPIPE', cause: { code: 'EPIPE', syscall: 'write' } }],
  [false, undefined],
])('was certainly not sent: %s', (expected, error) => {
  expect(prisma8NotSent(error)).toBe(expected)
})
