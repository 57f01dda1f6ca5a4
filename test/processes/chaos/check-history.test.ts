import { describe, expect, it } from '@jest/globals'
import { checkHistory, LONGEST_UNTAKEN } from './check-history'
import type { History, ProcessEntry } from './history'
import { acquired, change, injection, NOTHING, run } from './sample-history'

const promises = (history: Partial<History>): string[] =>
  checkHistory({ ...NOTHING, processes: [run('z', 1_000, 1_001)], ...history }).violations.map(
    ({ promise }) => promise,
  )

describe('The checker of the chaos run', () => {
  it('has nothing to say about runs that follow each other', () => {
    const verdict = checkHistory({ ...NOTHING, processes: [run('a', 0, 10), run('b', 10, 20)] })
    expect(verdict.violations).toEqual([])
    expect(verdict.total.acquisitions).toBe(2)
  })

  it('does not praise a run in which no lock was taken', () => {
    expect(promises({ processes: [] })).toEqual(['a free lock is taken'])
  })

  it('sees two processes that trust one lock at the same time', () => {
    expect(promises({ processes: [run('a', 0, 10), run('b', 9, 20)] })).toEqual(['leases do not overlap'])
  })

  it('sees an overlap with a run that began long before the last one', () => {
    expect(promises({ processes: [run('a', 0, 100), run('b', 200, 210), run('c', 20, 30)] })).toHaveLength(1)
    expect(
      promises({ processes: [[...run('a', 0, 100), ...run('b', 10, 20), ...run('c', 30, 40)]] }),
    ).toHaveLength(2)
  })

  it('takes the lease of a killed process for a run, as nobody knows when it died', () => {
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

  it('sees in the row that a held lock was taken', () => {
    expect(promises({ changes: [change(1, 0, 'a', 100), change(2, 99, 'b', 200)] })).toEqual([
      'leases do not overlap',
    ])
    expect(promises({ changes: [change(1, 0, 'a', 100), change(2, 100, 'b', 200)] })).toEqual([])
  })

  it('allows to take a lock that was freed, extended and over, or destroyed', () => {
    const freed = [change(1, 0, 'a', 100), change(2, 50, 'a', 50), change(3, 50, 'b', 90)]
    const extended = [change(1, 0, 'a', 100), change(2, 50, 'a', 150), change(3, 150, 'b', 190)]
    const destroyed = [change(1, 0, 'a', 100), change(2, 10, null, 0), change(3, 11, 'b', 90)]
    for (const changes of [freed, extended, destroyed]) expect(promises({ changes })).toEqual([])
    expect(promises({ changes: [...extended.slice(0, 2), change(3, 149, 'b', 190)] })).toHaveLength(1)
  })

  it('does not blame the lock for a table that was truncated without a trace in its row', () => {
    const changes = [change(1, 0, 'a', 100), change(2, 50, 'b', 150)]
    expect(promises({ changes, injections: [injection(49, 51, { destroys: true })] })).toEqual([])
    const cutToMilliseconds = changes.map((each) => ({ ...each, at: each.at + 0.4 }))
    const until50 = [injection(49, 50, { destroys: true })]
    expect(promises({ changes: cutToMilliseconds, injections: until50 })).toEqual([])
    expect(promises({ changes, injections: [injection(51, 52, { destroys: true })] })).toHaveLength(1)
    expect(promises({ changes, injections: [injection(49, 51, {})] })).toHaveLength(1)
  })

  it('does not blame the lock if it was given before the rows were destroyed, and heard of later', () => {
    const processes = [[acquired('a', 120, 200, { asked: 90 })], [acquired('b', 115, 190)]]
    const forced = { processes, injections: [injection(100, 110, { destroys: true })] }
    expect(promises(forced)).toEqual([])
    expect(promises({ ...forced, injections: [injection(70, 80, { destroys: true })] })).toEqual([
      'leases do not overlap',
    ])
  })

  it('does not take an unlock that changes the owner for a successor', () => {
    const take = change(1, 0, 'a', 100, 0)
    const unlocked = [take, change(2, 50, 'a, unlocked', 50, 0)]
    expect(promises({ changes: [...unlocked, change(3, 50, 'b', 90)] })).toEqual([])
    expect(promises({ changes: [take, change(2, 50, 'b', 110, 0)] })).toEqual([
      'leases do not overlap',
      'a token grows with each acquisition',
    ])
  })

  it('tells a takeover from a lock that was freed', () => {
    const changes = [
      change(1, 0, 'a', 100),
      change(2, 110, 'b', 200),
      change(3, 150, 'b', 150),
      change(4, 151, 'c', 300),
    ]
    expect(checkHistory({ ...NOTHING, changes }).total.takeovers).toBe(1)
  })

  it('measures how long a free lock was not taken, but not while nobody could take it', () => {
    const late = LONGEST_UNTAKEN + 101
    const changes = [change(1, 0, 'a', 100), change(2, late + 1, 'b', 2 * late)]
    expect(promises({ changes })).toEqual(['a free lock is taken'])
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

  it('sees that a lock was told as held which had long been free', () => {
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
    // A release may be seen late.
    expect(verdict(1_050)).toEqual([])
    expect(verdict(1_150)).toEqual(['a free lock is given'])
    expect(verdict(2_990, 3_001)).toEqual([])
    // Its holder's clock and the trigger's are not the same: the row was acquired when this was told.
    expect(verdict(2_900, 2_980)).toEqual([])
    expect(verdict(2_900, 2_970)).toEqual(['a free lock is given'])
    expect(verdict(4_900)).toEqual(['a free lock is given'])
    const destroyed = [change(1, 0, 'a', 9_000), change(2, 100, null, 0)]
    expect(promises({ changes: destroyed, processes: [run('z', 1_000, 1_001), [refused(1_150)]] })).toEqual([
      'a free lock is given',
    ])
  })

  it('does not wait for locks that nobody competes for any more', () => {
    const late = LONGEST_UNTAKEN + 101
    const changes = [change(1, 0, 'a', 100), change(2, late + 1, 'b', 2 * late)]
    const segment = { fault: 'kill', from: 0, to: 200, wallFrom: 0, wallTo: 200 }
    expect(promises({ changes, segments: [segment] })).toEqual([])
  })

  it('sees a run that was not told to stop, a crash, and a lock that never became free', () => {
    const processes: ProcessEntry[][] = [
      [
        { type: 'unaborted', at: 1, run: 'a' },
        { type: 'crash', at: 2, error: 'boom', origin: 'library' },
        { type: 'crash', at: 3, error: 'bang', origin: 'driver' },
      ],
    ]
    expect(promises({ processes: [...processes, run('b', 10, 11)], neverFree: ['job'] })).toEqual([
      'a run whose lease is over is told to stop',
      'every lock becomes free',
      'nothing is left unhandled',
    ])
  })

  it('sees a result that was lost, but forgives a killed process', () => {
    const ended: ProcessEntry[] = run('a', 0, 10).slice(0, 2)
    const stopped: ProcessEntry = { type: 'stopped', at: 20 }
    const wrong: ProcessEntry = { type: 'outcome', at: 11, run: 'a', own: false }
    expect(promises({ processes: [ended] })).toEqual([])
    expect(promises({ processes: [[...ended, stopped]] })).toEqual(["a task's own result comes through"])
    expect(promises({ processes: [[...ended, wrong]] })).toEqual(["a task's own result comes through"])
  })

  it('sees a stale commit and a lost update, and holds them only against the guard', () => {
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

  it('attributes what happened to the fault of that time', () => {
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
