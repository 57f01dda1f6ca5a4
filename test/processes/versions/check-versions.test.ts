import { expect, it } from '@jest/globals'
import { LATEST_DELIVERY } from '../servers/tcp-proxy'
import { checkVersions } from './check-versions'
import type { InstanceEntry } from './entry'
import { misreadings } from './read-row'

const acquired = (run: string, name: string, at: number): InstanceEntry => ({
  ...{ type: 'acquired', at, asked: at - 1, run, name, until: at + 100, lockAtMostFor: 100, notBefore: at },
})
const ended = (run: string, at: number): InstanceEntry[] => [
  { type: 'ended', at, run },
  { type: 'outcome', at, run, own: true },
]
const check = (before: InstanceEntry[], after: InstanceEntry[]) =>
  checkVersions({
    processes: [
      { version: 'before', entries: [acquired('a', 'plain-1', 1), ...ended('a', 2), ...before] },
      { version: 'after', entries: [acquired('b', 'plain-1', 3), ...ended('b', 4), ...after] },
    ],
    changes: [],
    segment: { fault: 'none', from: 0, to: LATEST_DELIVERY, wallFrom: 0, wallTo: LATEST_DELIVERY },
  })
const broken = (before: InstanceEntry[], after: InstanceEntry[]) =>
  check(before, after).violations.map((what) => what.split(':')[0])

it('finds nothing where one version runs after the other', () => {
  expect(check([], [])).toMatchObject({ violations: [], handovers: 1 })
})

it('sees that two versions held one lock', () => {
  const one = [acquired('c', 'plain-2', 10), ...ended('c', 60)]
  expect(broken(one, [acquired('d', 'plain-2', 50), ...ended('d', 55)])).toEqual(['leases do not overlap'])
  expect(broken(one, [acquired('d', 'plain-2', 61), ...ended('d', 65)])).toEqual([])
})

it('sees a slot that was given by each version', () => {
  const slot = (run: string, time: number): InstanceEntry => ({
    ...{ type: 'slot', at: 20, run, name: 'slot-1', slot: time },
  })
  expect(broken([slot('c', 250)], [slot('d', 500)])).toEqual([])
  expect(broken([slot('c', 250)], [slot('d', 250)])).toEqual(['slot 250 of slot-1 was given to c and to d'])
})

it('sees a run during a pause by the other version, unless somebody resumed it', () => {
  const pause: InstanceEntry = {
    ...{ type: 'paused', at: 20, asked: 19, run: 'p', name: 'paused-1', until: 400 },
  }
  const run = [acquired('d', 'paused-1', 200), ...ended('d', 210)]
  expect(broken([pause], run)).toEqual(['d ran on paused-1 while it was paused'])
  expect(broken([pause, { type: 'resuming', at: 150, name: 'paused-1' }], run)).toEqual([])
  expect(broken([pause], [{ type: 'resumed', at: 25, from: 18, name: 'paused-1' }, ...run])).toEqual([])
})

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
