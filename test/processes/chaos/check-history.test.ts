import { describe, expect, it } from '@jest/globals'
import { checkHistory, LONGEST_UNTAKEN } from './check-history'
import type { History, ProcessEntry } from './history'
import { acquired, change, injection, NOTHING, run } from './sample-history'

const promises = (history: Partial<History>): string[] =>
  checkHistory({ ...NOTHING, processes: [run('z', 1_000, 1_001)], ...history }).violations.map(
    ({ promise }) => promise,
  )

describe('The checker of the chaos run', () => {
  it('reports no violation for runs that follow each other', () => {
    const verdict = checkHistory({ ...NOTHING, processes: [run('a', 0, 10), run('b', 10, 20)] })
    expect(verdict.violations).toEqual([])
    expect(verdict.total.acquisitions).toBe(2)
  })

  it('reports a violation if no lock was acquired at all', () => {
    expect(promises({ processes: [] })).toEqual(['a free lock is acquired'])
  })

  it('reports two processes that hold one lock at the same time', () => {
    expect(promises({ processes: [run('a', 0, 10), run('b', 9, 20)] })).toEqual(['leases do not overlap'])
  })

  it('reports an overlap with a run that began long before the last one', () => {
    expect(promises({ processes: [run('a', 0, 100), run('b', 200, 210), run('c', 20, 30)] })).toHaveLength(1)
    expect(
      promises({ processes: [[...run('a', 0, 100), ...run('b', 10, 20), ...run('c', 30, 40)]] }),
    ).toHaveLength(2)
  })

  it('counts the whole lease of a killed process as its run, because the time of its death is unknown', () => {
    const killed = [acquired('a', 0, 50)]
    expect(promises({ processes: [killed, run('b', 40, 60)] })).toEqual(['leases do not overlap'])
    expect(promises({ processes: [killed, run('b', 50, 60)] })).toEqual([])
  })

  it('counts an extension as part of the run', () => {
    const extended: ProcessEntry[] = [acquired('a', 0, 10), { type: 'extended', at: 5, run: 'a', until: 30 }]
    expect(promises({ processes: [extended, run('b', 20, 25)] })).toEqual(['leases do not overlap'])
  })

  it('does not blame the lock for a row that was destroyed under its holder', () => {
    const processes = [run('a', 0, 10), run('b', 8, 20)]
    const destroyed = injection(5, 6, { destroys: true })
    expect(promises({ processes, injections: [destroyed] })).toEqual([])
    expect(checkHistory({ ...NOTHING, processes, injections: [destroyed] }).total.forced).toBe(1)
    expect(promises({ processes, injections: [injection(15, 16, { destroys: true })] })).toHaveLength(1)
  })

  it('reports a held lock that was acquired, as the row shows', () => {
    expect(promises({ changes: [change(1, 0, 'a', 100), change(2, 99, 'b', 200)] })).toEqual([
      'leases do not overlap',
    ])
    expect(promises({ changes: [change(1, 0, 'a', 100), change(2, 100, 'b', 200)] })).toEqual([])
  })

  it('accepts acquiring a lock that was released, has expired after an extension, or was destroyed', () => {
    const freed = [change(1, 0, 'a', 100), change(2, 50, 'a', 50), change(3, 50, 'b', 90)]
    const extended = [change(1, 0, 'a', 100), change(2, 50, 'a', 150), change(3, 150, 'b', 190)]
    const destroyed = [change(1, 0, 'a', 100), change(2, 10, null, 0), change(3, 11, 'b', 90)]
    for (const changes of [freed, extended, destroyed]) expect(promises({ changes })).toEqual([])
    expect(promises({ changes: [...extended.slice(0, 2), change(3, 149, 'b', 190)] })).toHaveLength(1)
  })

  it('does not blame the lock for a table that was truncated without a trace in its row', () => {
    const changes = [change(1, 0, 'a', 100), change(2, 50, 'b', 150)]
    expect(promises({ changes, injections: [injection(49, 51, { destroys: true })] })).toEqual([])
    const fractional = changes.map((lockChange) => ({ ...lockChange, at: lockChange.at + 0.4 }))
    const until50 = [injection(49, 50, { destroys: true })]
    expect(promises({ changes: fractional, injections: until50 })).toEqual([])
    expect(promises({ changes, injections: [injection(51, 52, { destroys: true })] })).toHaveLength(1)
    expect(promises({ changes, injections: [injection(49, 51, {})] })).toHaveLength(1)
  })

  it('does not blame the lock if it was acquired before the rows were destroyed and the answer arrived later', () => {
    const processes = [[acquired('a', 120, 200, { asked: 90 })], [acquired('b', 115, 190)]]
    const forced = { processes, injections: [injection(100, 110, { destroys: true })] }
    expect(promises(forced)).toEqual([])
    expect(promises({ ...forced, injections: [injection(70, 80, { destroys: true })] })).toEqual([
      'leases do not overlap',
    ])
  })

  it('does not mistake a release that changes the owner for a successor', () => {
    const take = change(1, 0, 'a', 100, 0)
    const unlocked = [take, change(2, 50, 'a, unlocked', 50, 0)]
    expect(promises({ changes: [...unlocked, change(3, 50, 'b', 90)] })).toEqual([])
    expect(promises({ changes: [take, change(2, 50, 'b', 110, 0)] })).toEqual([
      'leases do not overlap',
      'a token grows with each acquisition',
    ])
  })

  it('distinguishes a takeover from acquiring a released lock', () => {
    const changes = [
      change(1, 0, 'a', 100),
      change(2, 110, 'b', 200),
      change(3, 150, 'b', 150),
      change(4, 151, 'c', 300),
    ]
    expect(checkHistory({ ...NOTHING, changes }).total.takeovers).toBe(1)
  })

  it('measures how long a free lock was not acquired, except while a fault made that impossible', () => {
    const late = LONGEST_UNTAKEN + 101
    const changes = [change(1, 0, 'a', 100), change(2, late + 1, 'b', 2 * late)]
    expect(promises({ changes })).toEqual(['a free lock is acquired'])
    const injections = [injection(500, 1_500, { blocks: true }), injection(1_000, 2_000, { blocks: true })]
    const { violations, total } = checkHistory({
      ...NOTHING,
      processes: [run('a', 0, 1)],
      changes,
      injections,
    })
    expect(violations).toEqual([])
    expect(total.longestUntaken).toBe(late + 1 - 100 - 1_500)
  })

  it('reports a refusal of a lock that had long been free', () => {
    const refused = (asked: number, at = asked + 5): ProcessEntry => ({
      type: 'refused',
      at,
      asked,
      name: 'job',
    })
    const changes = [change(1, 0, 'a', 800), change(2, 100, 'unlocked', 100, 1), change(3, 3_000, 'b', 3_800)]
    const verdict = (asked: number, at?: number) =>
      promises({ changes, processes: [run('z', 1_000, 1_001), [refused(asked, at)]] })
    expect(verdict(50)).toEqual([])
    // A release may become visible late.
    expect(verdict(1_050)).toEqual([])
    expect(verdict(1_150)).toEqual(['a free lock is not refused'])
    expect(verdict(2_990, 3_001)).toEqual([])
    // The process's clock and the trigger's differ a little, so the row may already have been acquired again at the refusal.
    expect(verdict(2_900, 2_980)).toEqual([])
    expect(verdict(2_900, 2_970)).toEqual(['a free lock is not refused'])
    expect(verdict(4_900)).toEqual(['a free lock is not refused'])
    const destroyed = [change(1, 0, 'a', 9_000), change(2, 100, null, 0)]
    expect(promises({ changes: destroyed, processes: [run('z', 1_000, 1_001), [refused(1_150)]] })).toEqual([
      'a free lock is not refused',
    ])
  })

  it('does not measure free locks after the last segment, when no process competes any more', () => {
    const late = LONGEST_UNTAKEN + 101
    const changes = [change(1, 0, 'a', 100), change(2, late + 1, 'b', 2 * late)]
    const segment = { fault: 'kill', from: 0, to: 200, wallFrom: 0, wallTo: 200 }
    expect(promises({ changes, segments: [segment] })).toEqual([])
  })

  it('reports a signal that did not abort, a crash, and a lock that never became free', () => {
    const processes: ProcessEntry[][] = [
      [
        { type: 'unaborted', at: 1, run: 'a' },
        { type: 'crash', at: 2, error: 'boom', origin: 'library' },
        { type: 'crash', at: 3, error: 'bang', origin: 'driver' },
      ],
    ]
    expect(promises({ processes: [...processes, run('b', 10, 11)], neverFree: ['job'] })).toEqual([
      "a run's signal aborts when its lease is over",
      'every lock becomes free',
      'no error is left unhandled',
    ])
  })

  it('reports a lost result, except of a killed process', () => {
    const ended: ProcessEntry[] = run('a', 0, 10).slice(0, 2)
    const stopped: ProcessEntry = { type: 'stopped', at: 20 }
    const wrong: ProcessEntry = { type: 'outcome', at: 11, run: 'a', own: false }
    expect(promises({ processes: [ended] })).toEqual([])
    expect(promises({ processes: [[...ended, stopped]] })).toEqual(["the caller gets the task's own result"])
    expect(promises({ processes: [[...ended, wrong]] })).toEqual(["the caller gets the task's own result"])
  })

  it('reports a stale commit and a lost update only if they were guarded', () => {
    const commits = (guarded: boolean) => [
      { run: 'a', name: 'job', guarded, seen: 'a' },
      { run: 'b', name: 'job', guarded, seen: 'c' },
    ]
    const resources = [{ name: 'job', value: 1 }]
    expect(promises({ commits: commits(true), resources })).toEqual([
      'no stale commit with the guard',
      'no lost update with the guard',
    ])
    const processes = [run('a', 0, 1)]
    const verdict = checkHistory({ ...NOTHING, processes, commits: commits(false), resources })
    expect(verdict.violations).toEqual([])
    expect(verdict.total.staleCommits).toEqual({ guarded: 0, unguarded: 1 })
    expect(verdict.lostUpdates).toEqual({ guarded: 0, unguarded: 1 })
  })

  it('attributes each finding to the fault that was active at the time', () => {
    const segments = [
      { fault: 'kill', from: 0, to: 100, wallFrom: 0, wallTo: 100 },
      { fault: 'pause', from: 100, to: 200, wallFrom: 100, wallTo: 200 },
    ]
    const processes = [run('a', 0, 10), run('b', 120, 130), run('c', 125, 130)]
    const verdict = checkHistory({ ...NOTHING, processes, segments, injections: [injection(5, 6, {})] })
    expect(verdict.segments).toMatchObject([
      { fault: 'kill', acquisitions: 1, overlaps: 0, injected: 1 },
      { fault: 'pause', acquisitions: 2, overlaps: 1, injected: 0 },
    ])
  })
})
