import { expect, it } from '@jest/globals'
import { misreadings } from './read-row'

it('finds a row that is taken for something else than its author meant', () => {
  const now = new Date(1_000)
  const row = (lockedBy: string, held: boolean) => ({
    ...{ name: 'plain-1', lockedBy, held, paused: false, lockedAt: new Date(0), now },
    lockUntil: new Date(held ? 2_000 : 500),
  })
  const failed = row('after|failed/12 succeeded', false)
  expect(misreadings({ ...failed, lastRun: { outcome: 'failed' } })).toEqual([])
  const threw = row('after|failed threw Error/12 failed', false)
  expect(misreadings({ ...threw, lastRun: { outcome: 'failed' } })).toEqual([])
  expect(misreadings({ ...failed, lastRun: { outcome: 'succeeded' } })).toHaveLength(1)
  expect(misreadings({ ...failed, lockUntil: new Date(2_000) })).toHaveLength(1)
  expect(misreadings(row('paused by me: a test', true))).toHaveLength(1)
})
