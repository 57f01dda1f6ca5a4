import { expect, it } from '@jest/globals'
import { misreadings } from './read-row'

it('sees a row that is taken for something else than its author meant', () => {
  const now = new Date(1_000)
  const row = (lockedBy: string, held: boolean) => ({
    ...{ name: 'plain-1', lockedBy, held, paused: false, lockedAt: new Date(0), now },
    lockUntil: new Date(held ? 2_000 : 500),
  })
  const failed = row('after|true|failed/12 succeeded', false)
  const silent = row('before|false|failed/unlocked', false)
  expect(misreadings({ ...failed, lastRun: { outcome: 'failed' } }, true)).toEqual([])
  expect(misreadings({ ...failed, lastRun: { outcome: 'succeeded' } }, true)).toHaveLength(1)
  expect(misreadings({ ...silent, lastRun: { outcome: 'unlocked' } }, true)).toEqual([])
  expect(misreadings({ ...silent, lastRun: { outcome: 'died' } }, true)).toHaveLength(1)
  expect(misreadings({ ...silent, lockUntil: new Date(2_000) }, true)).toHaveLength(1)
  expect(misreadings(row('paused by me: a test', true), false)).toHaveLength(1)
})
