import { describe, expect, it } from '@jest/globals'
import { checkLeases } from './check-leases'
import type { History, ProcessEntry } from './history'
import { runsOf } from './runs'
import { acquired, change, injection, NOTHING } from './sample-history'
import { LATEST_DELIVERY } from '../servers/tcp-proxy'

const kinds = (entries: readonly ProcessEntry[], history: Partial<History>): string[] =>
  checkLeases(runsOf(entries), { ...NOTHING, ...history }).map(({ kind }) => kind)

const ended = (at: number): ProcessEntry => ({ type: 'ended', at, run: 'a' })
const unlocked = (at: number): ProcessEntry => ({ type: 'unlocked', at, run: 'a' })

describe('The checker of leases', () => {
  it('accepts a lock that is acquired, extended, released and acquired again', () => {
    const entries: ProcessEntry[] = [
      acquired('a', 0, 1_000),
      { type: 'extending', at: 100, run: 'a', lockAtMostFor: 3_000 },
      { type: 'extended', at: 110, run: 'a', until: 3_100 },
      ended(2_000),
      unlocked(2_010),
      acquired('b', 2_020, 3_020),
    ]
    const changes = [
      change(1, 1, 'a', 1_001),
      change(2, 105, 'a', 3_105),
      change(3, 2_005, 'a', 2_005),
      change(4, 2_015, 'b', 3_020),
    ]
    expect(kinds(entries, { changes })).toEqual([])
  })

  it('reports a lease that was cut short by an extension whose answer was lost', () => {
    const changes = [change(1, 1, 'a', 1_001), change(2, 100, 'a', 300)]
    expect(kinds([acquired('a', 0, 1_000)], { changes })).toEqual(['cut short'])
    expect(kinds([acquired('a', 0, 1_000), ended(290)], { changes })).toEqual([])
    const answered: ProcessEntry = { type: 'extended', at: 101, run: 'a', until: 299 }
    expect(kinds([acquired('a', 0, 1_000), answered], { changes })).toEqual([])
  })

  it('does not blame the lock for a row that was destroyed', () => {
    const changes = [change(1, 1, 'a', 1_001), change(2, 100, 'a', 300)]
    const entries = [acquired('a', 0, 1_000)]
    expect(kinds(entries, { changes, injections: [injection(50, 60, { destroys: true })] })).toEqual([])
    expect(kinds(entries, { changes, injections: [injection(2_000, 2_010, { destroys: true })] })).toEqual([
      'cut short',
    ])
  })

  it('reports a lock that another process acquired before its lockAtLeastFor was over', () => {
    const changes = [change(1, 1, 'a', 1_001), change(2, 100, 'a', 400), change(3, 450, 'b', 1_450)]
    const entries = [acquired('a', 0, 1_000, { notBefore: 500 }), ended(90)]
    expect(kinds(entries, { changes })).toEqual(['freed early'])
    expect(kinds([acquired('a', 0, 1_000, { notBefore: 440 }), ended(90)], { changes })).toEqual([])
    const extended: ProcessEntry = { type: 'extended', at: 50, run: 'a', until: 1_000, lockAtLeastFor: 600 }
    expect(kinds([acquired('a', 0, 1_000), extended, ended(90)], { changes })).toEqual(['freed early'])
  })

  it('does not blame the lock for a row that was destroyed after the unlock, within lockAtLeastFor', () => {
    const changes = [change(1, 1, 'a', 1_001), change(2, 100, 'a', 400), change(3, 150, 'b', 1_150)]
    const entries = [acquired('a', 0, 1_000, { notBefore: 500 }), ended(90)]
    expect(kinds(entries, { changes, injections: [injection(120, 160, { destroys: true })] })).toEqual([])
    expect(kinds(entries, { changes, injections: [injection(200, 210, { destroys: true })] })).toEqual([
      'freed early',
    ])
  })

  it('reports an extension that took effect after the release', () => {
    const entries = [acquired('a', 0, 1_000, { notBefore: 500 }), ended(100), unlocked(110)]
    const revived = [change(1, 1, 'a', 1_001), change(2, 105, 'a', 501), change(3, 300, 'a', 1_300)]
    expect(kinds(entries, { changes: revived })).toEqual(['held by nobody'])
    expect(kinds(entries, { changes: revived.slice(0, 2) })).toEqual([])
    expect(kinds(entries.slice(0, 2), { changes: revived })).toEqual([])
  })

  it('reports a row that is held for longer than its last holder ever requested', () => {
    const most = 100 + 1_000 + LATEST_DELIVERY
    const held = (until: number) => [change(1, 1, 'a', 1_001), change(2, 900, 'a', until)]
    const entries = [acquired('a', 0, 1_000), ended(100)]
    expect(kinds(entries, { changes: held(most) })).toEqual([])
    expect(kinds(entries, { changes: held(most + 100) })).toEqual(['held by nobody'])
    expect(kinds(entries, { changes: [...held(most + 100), change(3, most, 'b', 9_000)] })).toEqual([])
    expect(kinds([], { changes: held(10_000) })).toEqual(['held by nobody'])
  })
})
