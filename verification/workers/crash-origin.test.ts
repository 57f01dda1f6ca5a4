import { expect, it } from '@jest/globals'
import { originOf } from './crash-origin'

const thrownAt = (...places: string[]): Error =>
  Object.assign(new Error('boom'), {
    stack: ['Error: boom', ...places.map((place) => `    at f (${place}:1:1)`)].join('\n'),
  })

it('distinguishes an error thrown by a driver from one of the library', () => {
  const driver = '/app/node_modules/pg-protocol/src/parser.ts'
  expect(originOf(thrownAt(driver, 'node:events'))).toBe('driver')
  expect(originOf(thrownAt(driver, '/app/src/sql/stored-table.ts'))).toBe('library')
  expect(originOf(thrownAt('node:events'))).toBe('library')
})
