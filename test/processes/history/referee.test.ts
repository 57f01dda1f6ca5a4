import { describe, expect, it } from '@jest/globals'
import { LATEST_DELIVERY } from '../servers/tcp-proxy'
import type { EventOf, Injection, LockEvent, ProcessEntry } from './events'
import { History, LIMITS } from './history'
import { judge, takesOf, violationsOf } from './referee'

// Small histories, in which all clocks are the same.

/** What each process recorded, and other events. @returns the rules that were broken */
interface Told {
  readonly processes?: readonly (readonly ProcessEntry[])[]
  readonly changes?: readonly LockEvent[]
  readonly injections?: readonly LockEvent[]
  readonly others?: readonly LockEvent[]
}

const eventsOf = ({ processes, changes = [], injections = [], others = [] }: Told): LockEvent[] => [
  ...(processes ?? [[OTHER_RUN]]).flatMap((entries, index) =>
    entries.map((entry) => ({ process: String(index), ...entry })),
  ),
  ...changes,
  ...injections,
  ...others,
]
const findings = (told: Told) => judge(eventsOf(told))
const rules = (told: Told): string[] => violationsOf(findings(told)).map(({ rule }) => rule)
/** The rules about one holder. Some of these histories also acquire a row that is held. */
const kinds = (entries: readonly ProcessEntry[], told: Told): string[] =>
  rules({ ...told, processes: [entries, [{ ...acquired('z', -10, -9), name: 'other' }]] }).filter(
    (rule) => rule !== 'exclusion',
  )

type Acquired = Extract<ProcessEntry, { type: 'acquired' }>
const acquired = (id: string, at: number, until: number, more: Partial<Acquired> = {}): Acquired => ({
  ...{
    type: 'acquired',
    at,
    asked: at,
    run: id,
    name: 'job',
    until,
    lockAtMostFor: until - at,
    notBefore: at,
  },
  ...more,
})
/** Of another lock: without any acquisition, a history breaks the rule of liveness. */
const OTHER_RUN = acquired('z', 1_000, 1_001, { name: 'other' })
const run = (id: string, from: number, to: number, until = to): ProcessEntry[] => [
  acquired(id, from, until),
  { type: 'ended', at: to, run: id, succeeded: true },
  { type: 'outcome', at: to + 1, run: id, own: true },
]
/** @param lockedAt must be set for a release that changes the owner; otherwise the owner identifies the acquisition */
const change = (
  seq: number,
  at: number,
  lockedBy: string | null,
  lockUntil: number,
  lockedAt = seq,
): EventOf<'change'> => ({ type: 'change', seq, at, name: 'job', lockedBy, lockUntil, lockedAt })
const injection = (from: number, to: number, what: Partial<Injection>): Injection => ({
  ...{ type: 'fault', fault: 'x', from, to, wallFrom: from, wallTo: to, blocks: false, destroys: false },
  ...what,
})
const segment = (fault: string, from: number, to: number, more: Partial<EventOf<'segment'>> = {}) =>
  ({ type: 'segment', fault, from, to, wallFrom: from, wallTo: to, ...more }) as const

describe('The referee', () => {
  it('reports no violation for runs that follow each other', () => {
    expect(findings({ processes: [run('a', 0, 10), run('b', 10, 20)] })).toEqual([])
  })

  it('reports a violation if no lock was acquired at all', () => {
    expect(rules({ processes: [] })).toEqual(['liveness'])
  })

  it('reports two processes that hold one lock at the same time', () => {
    expect(rules({ processes: [run('a', 0, 10), run('b', 9, 20)] })).toEqual(['exclusion'])
  })

  it('reports an overlap with a run that began long before the last one', () => {
    expect(rules({ processes: [run('a', 0, 100), run('b', 200, 210), run('c', 20, 30)] })).toHaveLength(1)
    expect(
      rules({ processes: [[...run('a', 0, 100), ...run('b', 10, 20), ...run('c', 30, 40)]] }),
    ).toHaveLength(2)
  })

  it('counts the whole lease of a killed process as its run, because the time of its death is unknown', () => {
    const killed = [acquired('a', 0, 50)]
    expect(rules({ processes: [killed, run('b', 40, 60)] })).toEqual(['exclusion'])
    expect(rules({ processes: [killed, run('b', 50, 60)] })).toEqual([])
  })

  it('counts an extension as part of the run', () => {
    const extended: ProcessEntry[] = [acquired('a', 0, 10), { type: 'extended', at: 5, run: 'a', until: 30 }]
    expect(rules({ processes: [extended, run('b', 20, 25)] })).toEqual(['exclusion'])
  })

  it('does not blame the lock for a row that was destroyed under its holder', () => {
    const processes = [run('a', 0, 10), run('b', 8, 20)]
    const destroyed = injection(5, 6, { destroys: true })
    expect(rules({ processes, injections: [destroyed] })).toEqual([])
    expect(findings({ processes, injections: [destroyed] })).toMatchObject([{ rule: 'exclusion' }])
    expect(rules({ processes, injections: [injection(15, 16, { destroys: true })] })).toHaveLength(1)
  })

  it('reports a held lock that was acquired, as the row shows', () => {
    expect(rules({ changes: [change(1, 0, 'a', 100), change(2, 99, 'b', 200)] })).toEqual(['exclusion'])
    expect(rules({ changes: [change(1, 0, 'a', 100), change(2, 100, 'b', 200)] })).toEqual([])
  })

  it('accepts acquiring a lock that was released, has expired after an extension, or was destroyed', () => {
    const freed = [change(1, 0, 'a', 100), change(2, 50, 'a', 50), change(3, 50, 'b', 90)]
    const extended = [change(1, 0, 'a', 100), change(2, 50, 'a', 150), change(3, 150, 'b', 190)]
    const destroyed = [change(1, 0, 'a', 100), change(2, 10, null, 0), change(3, 11, 'b', 90)]
    for (const changes of [freed, extended, destroyed]) expect(rules({ changes })).toEqual([])
    expect(rules({ changes: [...extended.slice(0, 2), change(3, 149, 'b', 190)] })).toHaveLength(1)
  })

  it('does not blame the lock for a table that was truncated without a trace in its row', () => {
    const changes = [change(1, 0, 'a', 100), change(2, 50, 'b', 150)]
    expect(rules({ changes, injections: [injection(49, 51, { destroys: true })] })).toEqual([])
    const fractional = changes.map((lockChange) => ({ ...lockChange, at: lockChange.at + 0.4 }))
    const until50 = [injection(49, 50, { destroys: true })]
    expect(rules({ changes: fractional, injections: until50 })).toEqual([])
    expect(rules({ changes, injections: [injection(51, 52, { destroys: true })] })).toHaveLength(1)
    expect(rules({ changes, injections: [injection(49, 51, {})] })).toHaveLength(1)
  })

  it('does not blame the lock if it was acquired before the rows were destroyed and the answer arrived later', () => {
    const processes = [[acquired('a', 120, 200, { asked: 90 })], [acquired('b', 115, 190)]]
    const forced = { processes, injections: [injection(100, 110, { destroys: true })] }
    expect(rules(forced)).toEqual([])
    expect(rules({ ...forced, injections: [injection(70, 80, { destroys: true })] })).toEqual(['exclusion'])
  })

  it('does not mistake a release that changes the owner for a successor', () => {
    const take = change(1, 0, 'a', 100, 0)
    const unlocked = [take, change(2, 50, 'a, unlocked', 50, 0)]
    expect(rules({ changes: [...unlocked, change(3, 50, 'b', 90)] })).toEqual([])
    expect(rules({ changes: [take, change(2, 50, 'b', 110, 0)] })).toEqual(['exclusion', 'tokens'])
  })

  it('distinguishes a takeover from acquiring a released lock', () => {
    const changes = [
      change(1, 0, 'a', 100),
      change(2, 110, 'b', 200),
      change(3, 150, 'b', 150),
      change(4, 151, 'c', 300),
    ]
    const takes = takesOf(new History(changes))
    expect(takes.filter(({ takeover }) => takeover)).toHaveLength(1)
  })

  it('measures how long a free lock was not acquired, except while a fault made that impossible', () => {
    const late = LIMITS.longestUntaken + 101
    const changes = [change(1, 0, 'a', 100), change(2, late + 1, 'b', 2 * late)]
    expect(rules({ changes })).toEqual(['liveness'])
    const injections = [injection(500, 1_500, { blocks: true }), injection(1_000, 2_000, { blocks: true })]
    expect(rules({ changes, injections })).toEqual([])
    const [, { untaken } = {}] = [undefined, ...takesOf(new History([...changes, ...injections]))]
    expect(untaken).toBe(late + 1 - 100 - 1_500)
  })

  it('reports a refusal of a lock that had long been free', () => {
    const refused = (asked: number, at = asked + 5): ProcessEntry => ({
      type: 'refused',
      at,
      asked,
      name: 'job',
      reason: 'held',
    })
    const changes = [change(1, 0, 'a', 800), change(2, 100, 'unlocked', 100, 1), change(3, 3_000, 'b', 3_800)]
    const verdict = (asked: number, at?: number) =>
      rules({ changes, processes: [[OTHER_RUN, refused(asked, at)]] })
    expect(verdict(50)).toEqual([])
    // A release may become visible late.
    expect(verdict(1_050)).toEqual([])
    expect(verdict(1_150)).toEqual(['refusals'])
    expect(verdict(2_990, 3_001)).toEqual([])
    // The process's clock and the trigger's differ a little, so the row may already have been acquired again at the refusal.
    expect(verdict(2_900, 2_980)).toEqual([])
    expect(verdict(2_900, 2_970)).toEqual(['refusals'])
    expect(verdict(4_900)).toEqual(['refusals'])
    const destroyed = [change(1, 0, 'a', 9_000), change(2, 100, null, 0)]
    expect(
      rules({
        changes: destroyed,
        processes: [[OTHER_RUN, refused(1_150)]],
      }),
    ).toEqual(['refusals'])
  })

  it('does not measure free locks after the last segment, when no process competes any more', () => {
    const late = LIMITS.longestUntaken + 101
    const changes = [change(1, 0, 'a', 100), change(2, late + 1, 'b', 2 * late)]
    expect(rules({ changes, others: [segment('kill', 0, 200)] })).toEqual([])
  })

  it('reports a signal that did not abort, a crash, and a lock that never became free', () => {
    const processes: ProcessEntry[][] = [
      [
        { type: 'unaborted', at: 1, run: 'a' },
        { type: 'crash', at: 2, error: 'boom', origin: 'library' },
        { type: 'crash', at: 3, error: 'bang', origin: 'driver' },
      ],
    ]
    expect(
      rules({ processes: [...processes, run('b', 10, 11)], others: [{ type: 'never free', name: 'job' }] }),
    ).toEqual(['ends', 'signals', 'errors'])
  })

  it('reports a lost result, except of a killed process', () => {
    const ended: ProcessEntry[] = run('a', 0, 10).slice(0, 2)
    const stopped: ProcessEntry = { type: 'stopped', at: 20 }
    const wrong: ProcessEntry = { type: 'outcome', at: 11, run: 'a', own: false }
    expect(rules({ processes: [ended] })).toEqual([])
    expect(rules({ processes: [[...ended, stopped]] })).toEqual(['results'])
    expect(rules({ processes: [[...ended, wrong]] })).toEqual(['results'])
  })

  it('reports a stale commit and a lost update only if they were guarded', () => {
    const told = (guarded: boolean): Told => ({
      others: [
        { type: 'commit', run: 'a', name: 'job', guarded, seen: 'a' },
        { type: 'commit', run: 'b', name: 'job', guarded, seen: 'c' },
        { type: 'resource', name: 'job', value: 1 },
      ],
    })
    expect(rules(told(true))).toEqual(['guard', 'guard'])
    expect(rules(told(false))).toEqual([])
    expect(findings(told(false))).toMatchObject([{ rule: 'guard' }, { rule: 'guard' }])
  })

  it('reports a process that considers itself the holder after another one was elected', () => {
    const later: ProcessEntry = { type: 'held', at: 12, run: 'a' }
    expect(rules({ processes: [[acquired('a', 0, 10), later], run('b', 11, 20)] })).toEqual(['exclusion'])
    expect(rules({ processes: [[acquired('a', 0, 10)], run('b', 11, 20)] })).toEqual([])
  })

  it('excuses an overlap that is no longer than the next server is ahead', () => {
    const processes = [run('a', 0, 30), run('b', 9, 20)]
    const ahead = (clockAhead: number) => ({ processes, others: [segment('ahead', 0, 100, { clockAhead })] })
    expect(rules(ahead(11))).toEqual([])
    expect(rules(ahead(10))).toEqual(['exclusion'])
  })

  it('expects overlaps where acknowledged writes are lost, and excuses them', () => {
    const others: LockEvent[] = [{ type: 'loses writes' }]
    expect(rules({ processes: [run('a', 0, 10), run('b', 9, 20)], others })).toEqual([])
    expect(rules({ others })).toEqual(['exclusion'])
  })

  it('reports a slot that ran twice, but with `until` only after a recorded success', () => {
    const slot = (id: string, at: number, until: boolean, isReleased = true): ProcessEntry[] => [
      ...run(id, at, at + 1),
      { type: 'slot', at, run: id, name: 'job', slot: 7, until },
      ...(isReleased ? [{ type: 'unlocked', at: at + 1, run: id } as const] : []),
    ]
    expect(rules({ processes: [slot('a', 0, false), slot('b', 2, false)] })).toEqual(['slots'])
    expect(rules({ processes: [slot('a', 0, true, false), slot('b', 2, true)] })).toEqual([])
    expect(rules({ processes: [slot('a', 0, true), slot('b', 2, true)] })).toEqual(['slots'])
  })

  it('reports tokens that do not grow, from tasks and from rows', () => {
    const token = (id: string, at: number, value: number): ProcessEntry[] => [
      ...run(id, at, at + 1),
      { type: 'token', at, run: id, token: value },
    ]
    expect(
      rules({ processes: [token('a', 0, 3), token('b', 2, 3), token('c', 4, 2), token('d', 6, 4)] }),
    ).toEqual(['tokens', 'tokens'])
    const grown = [
      change(1, 1, 'a', 801, 5),
      change(2, 100, 'a/unlocked', 100, 5),
      change(3, 300, 'b', 1_300, 6),
    ]
    expect(rules({ changes: grown })).toEqual([])
    expect(rules({ changes: [...grown, change(4, 1_400, 'c', 2_400, 6)] })).toEqual(['tokens'])
    const destroyed = [...grown, change(4, 1_400, null, 0, 0), change(5, 1_500, 'c', 2_400, 1)]
    expect(rules({ changes: destroyed })).toEqual([])
    const late = [change(1, 1, 'a', 801, 5), change(2, 900, '/run succeeded', 900, 5)]
    expect(rules({ changes: [...late, change(3, 1_000, 'b', 2_000, 6)] })).toEqual([])
    expect(rules({ changes: [...late, change(3, 1_000, 'b', 2_000, 5)] })).toEqual(['tokens'])
  })

  it('reports a run during a pause, unless the pause was resumed', () => {
    const pause: ProcessEntry = {
      ...{ type: 'paused', at: 20, asked: 19, run: 'p', name: 'job', until: 400 },
    }
    const during = run('d', 200, 210)
    expect(rules({ processes: [[pause], during] })).toEqual(['pauses'])
    expect(rules({ processes: [[pause, { type: 'resuming', at: 150, name: 'job' }], during] })).toEqual([])
    expect(
      rules({ processes: [[pause], [{ type: 'resumed', at: 25, from: 18, name: 'job' }, ...during]] }),
    ).toEqual([])
  })

  it('reports a row that was still held after its lease, and within the lease only a figure', () => {
    const rows = (at: number) => [{ type: 'rows', at, owners: ['a'] } as const]
    const processes = [run('a', 0, 10, 100)]
    expect(findings({ processes, others: rows(500) })).toEqual([])
    expect(findings({ processes, others: rows(1_500) })).toMatchObject([{ rule: 'ends' }])
    expect(rules({ processes, others: rows(1_500) })).toEqual([])
    expect(rules({ processes, others: rows(200 + LATEST_DELIVERY) })).toEqual(['ends'])
  })

  it('expects two versions to hand a lock over', () => {
    const of = (version: string, id: string, at: number, name: string): ProcessEntry[] => [
      { type: 'started', at: 0, orm: 'typeorm', version },
      { ...acquired(id, at, at + 1), name },
    ]
    expect(rules({ processes: [of('before', 'a', 1, 'job'), of('after', 'b', 3, 'job')] })).toEqual([])
    expect(rules({ processes: [of('before', 'a', 1, 'job'), of('after', 'b', 3, 'other')] })).toEqual([
      'liveness',
    ])
  })
})

describe('The rules of rows', () => {
  const slot = (at: number, value: number): ProcessEntry => ({
    ...{ type: 'slot', at, run: 'a', name: 'job', slot: value },
  })
  const refused = (value: number, until?: boolean): ProcessEntry[] => [
    { type: 'refused', asked: 500, at: 501, name: 'job', reason: 'already-run', slot: value, until },
  ]
  const owner = 'host/00000000-0000-8000-8000-000000000000'
  const ran = (succeeded: boolean): ProcessEntry[] => [
    acquired(owner, 1, 101),
    { type: 'ended', at: 51, run: owner, succeeded },
    { type: 'outcome', at: 52, run: owner, own: true },
  ]
  const released = (lockedBy: string) => [change(1, 1, owner, 101, 7), change(2, 51, lockedBy, 51, 7)]
  const token: ProcessEntry = { type: 'token', at: 5, run: 'a', token: 9 }
  const row = change(1, 1, 'a', 101, 7)

  it.each<[string, string[], ProcessEntry[], LockEvent[]]>([
    ['a run whose lock was never acquired', ['exclusion'], run('a', 1, 2), [change(1, 1, 'b', 1)]],
    [
      'an extension of a lease that was over',
      ['ends'],
      [],
      [row, { ...change(2, 200, 'a', 300, 7), exact: { at: 200, end: 300 } }],
    ],
    [
      'an acquisition that got its lock back',
      ['ends'],
      [],
      [row, change(2, 150, 'b', 200, 8), change(3, 250, 'a', 300, 9)],
    ],
    ["a token that is not the row's", ['tokens'], [...run('a', 1, 9), token], [row]],
    ['an earlier slot after a later one', ['slots'], [...run('a', 1, 9), slot(1, 8), slot(2, 7)], []],
    ['a row that records another slot', ['slots'], [...run('a', 1, 9), slot(1, 8)], [row]],
    ['a slot that is too far ahead', ['slots'], [], [change(1, 1, 'a', 101, 70_000)]],
    [
      'a token that follows one from the future',
      [],
      [],
      [change(1, 1, 'a', 1, 6e4), change(2, 9, 'b', 9, 60_001)],
    ],
    ['another outcome in the row', ['outcomes'], ran(false), released('host/50 succeeded')],
    ['a duration that cannot be right', ['outcomes'], ran(true), released('host/500 succeeded')],
    ['the right outcome', [], ran(true), released('host/50 succeeded')],
    ['a refusal of a slot that failed', ['refusals'], refused(7, true), released('host/50 failed')],
    ['a refusal of a slot that succeeded', [], refused(7, true), released('host/50 succeeded')],
    ['a refusal of a slot for which nothing ran', ['refusals'], refused(7), released('host/unlocked')],
    ['a refusal of a later slot', [], refused(8), released('host/unlocked')],
  ])('judge %s: %j', (_, expected, entries, changes) => {
    expect(rules({ processes: [entries, [OTHER_RUN]], changes })).toEqual(expected)
  })
})

const ended = (at: number): ProcessEntry => ({ type: 'ended', at, run: 'a' })
const unlocked = (at: number): ProcessEntry => ({ type: 'unlocked', at, run: 'a' })

describe('The rules of leases', () => {
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
    expect(kinds([acquired('a', 0, 1_000)], { changes })).toEqual(['leases'])
    expect(kinds([acquired('a', 0, 1_000), ended(290)], { changes })).toEqual([])
    const answered: ProcessEntry = { type: 'extended', at: 101, run: 'a', until: 299 }
    expect(kinds([acquired('a', 0, 1_000), answered], { changes })).toEqual([])
  })

  it('does not blame the lock for a row that was destroyed', () => {
    const changes = [change(1, 1, 'a', 1_001), change(2, 100, 'a', 300)]
    const entries = [acquired('a', 0, 1_000)]
    expect(kinds(entries, { changes, injections: [injection(50, 60, { destroys: true })] })).toEqual([])
    expect(kinds(entries, { changes, injections: [injection(2_000, 2_010, { destroys: true })] })).toEqual([
      'leases',
    ])
  })

  it('reports a lock that another process acquired before its lockAtLeastFor was over', () => {
    const changes = [change(1, 1, 'a', 1_001), change(2, 100, 'a', 400), change(3, 450, 'b', 1_450)]
    const entries = [acquired('a', 0, 1_000, { notBefore: 500 }), ended(90)]
    expect(kinds(entries, { changes })).toEqual(['lockAtLeastFor'])
    expect(kinds([acquired('a', 0, 1_000, { notBefore: 440 }), ended(90)], { changes })).toEqual([])
    const extended: ProcessEntry = { type: 'extended', at: 50, run: 'a', until: 1_000, lockAtLeastFor: 600 }
    expect(kinds([acquired('a', 0, 1_000), extended, ended(90)], { changes })).toEqual(['lockAtLeastFor'])
  })

  it('does not blame the lock for a row that was destroyed after the unlock, within lockAtLeastFor', () => {
    const changes = [change(1, 1, 'a', 1_001), change(2, 100, 'a', 400), change(3, 150, 'b', 1_150)]
    const entries = [acquired('a', 0, 1_000, { notBefore: 500 }), ended(90)]
    expect(kinds(entries, { changes, injections: [injection(120, 160, { destroys: true })] })).toEqual([])
    expect(kinds(entries, { changes, injections: [injection(200, 210, { destroys: true })] })).toEqual([
      'lockAtLeastFor',
    ])
  })

  it('reports an extension that took effect after the release', () => {
    const entries = [acquired('a', 0, 1_000, { notBefore: 500 }), ended(100), unlocked(110)]
    const revived = [change(1, 1, 'a', 1_001), change(2, 105, 'a', 501), change(3, 300, 'a', 1_300)]
    expect(kinds(entries, { changes: revived })).toEqual(['ends'])
    expect(kinds(entries, { changes: revived.slice(0, 2) })).toEqual([])
    expect(kinds(entries.slice(0, 2), { changes: revived })).toEqual([])
  })

  it('reports a row that is held for longer than its last holder ever requested', () => {
    const most = 100 + 1_000 + LATEST_DELIVERY
    const held = (until: number) => [change(1, 1, 'a', 1_001), change(2, 900, 'a', until)]
    const entries = [acquired('a', 0, 1_000), ended(100)]
    expect(kinds(entries, { changes: held(most) })).toEqual([])
    expect(kinds(entries, { changes: held(most + 100) })).toEqual(['ends'])
    expect(kinds(entries, { changes: [...held(most + 100), change(3, most, 'b', 9_000)] })).toEqual([])
    expect(kinds([], { changes: held(10_000) })).toEqual(['ends'])
  })
})
