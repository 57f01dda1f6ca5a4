import { expect, it } from '@jest/globals'
import { LATEST_DELIVERY } from '../servers/network'
import type { EventOf, Injection, LockEvent, ProcessEntry } from './events'
import { History, LIMITS } from './history'
import { judge, takesOf, violationsOf, type Rule } from './referee'

// Small histories, in which all clocks are the same.

/** What was recorded: a list for each process, and other events. */
type Parts = readonly (readonly ProcessEntry[] | LockEvent)[]
type Case = readonly [what: string, ...parts: Parts]

type Acquired = Extract<ProcessEntry, { type: 'acquired' }>
const acquired = (id: string, at: number, until: number, more: Partial<Acquired> = {}): Acquired => ({
  ...{ type: 'acquired', at, asked: at, run: id, name: 'job', until },
  ...{ lockAtMostFor: until - at, notBefore: at },
  ...more,
})
/** Of another lock: without any acquisition, a history breaks the rule of liveness. */
const other = [acquired('z', 1_000, 1_001, { name: 'other' })]
const ended = (id: string, at: number, succeeded?: boolean): ProcessEntry => ({
  ...{ type: 'ended', at, run: id, succeeded },
})
const unlocked = (id: string, at: number): ProcessEntry => ({ type: 'unlocked', at, run: id })
const outcome = (id: string, at: number, own = true): ProcessEntry => ({ type: 'outcome', at, run: id, own })
const run = (id: string, from: number, to: number, until = to): ProcessEntry[] => [
  acquired(id, from, until),
  ended(id, to, true),
  outcome(id, to + 1),
]
const extended = (at: number, until: number, lockAtLeastFor?: number): ProcessEntry => ({
  ...{ type: 'extended', at, run: 'a', until, lockAtLeastFor },
})
const slot = (id: string, at: number, value: number, until?: boolean): ProcessEntry => ({
  ...{ type: 'slot', at, run: id, name: 'job', slot: value, until },
})
const token = (id: string, at: number, value: number): ProcessEntry[] => [
  ...run(id, at, at + 1),
  { type: 'token', at, run: id, token: value },
]
const refused = (asked: number, at = asked + 5): ProcessEntry => ({
  ...{ type: 'refused', at, asked, name: 'job', reason: 'held' },
})
const refusedSlot = (value: number, until?: boolean): ProcessEntry => ({
  ...{ type: 'refused', asked: 500, at: 501, name: 'job', reason: 'already-run', slot: value, until },
})
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
const destroyed = (from: number, to: number): Injection => injection(from, to, { destroys: true })
const segment = (from: number, to: number, more: Partial<EventOf<'segment'>> = {}): EventOf<'segment'> => ({
  ...{ type: 'segment', fault: 'x', from, to, wallFrom: from, wallTo: to },
  ...more,
})
const commits = (guarded: boolean): Parts => [
  { type: 'commit', run: 'a', name: 'job', guarded, seen: 'a' },
  { type: 'commit', run: 'b', name: 'job', guarded, seen: 'c' },
  { type: 'resource', name: 'job', value: 1 },
]
const started = (version: string): ProcessEntry => ({ type: 'started', at: 0, orm: 'typeorm', version })
const rows = (at: number): LockEvent => ({ type: 'rows', at, owners: ['a'] })

const held = [change(1, 0, 'a', 100)]
const prolonged = [...held, change(2, 50, 'a', 150)]
/** Acquired from its holder, after its table was truncated or not. */
const taken = [...held, change(2, 50, 'b', 150)]
const late = LIMITS.longestUntaken + 101
const longFree = [...held, change(2, late + 1, 'b', 2 * late)]
const blocking = [injection(500, 1_500, { blocks: true }), injection(1_000, 2_000, { blocks: true })]
const take = change(1, 0, 'a', 100, 0)
const released = [change(1, 0, 'a', 800), change(2, 100, 'unlocked', 100, 1), change(3, 3_000, 'b', 3_800)]
const cut = [change(1, 1, 'a', 1_001), change(2, 100, 'a', 300)]
const kept = [change(1, 1, 'a', 1_001), change(2, 100, 'a', 400)]
const revived = [change(1, 1, 'a', 1_001), change(2, 105, 'a', 501), change(3, 300, 'a', 1_300)]
const grown = [change(1, 1, 'a', 801, 5), change(2, 100, 'a/unlocked', 100, 5), change(3, 300, 'b', 1_300, 6)]
const releasedLate = [change(1, 1, 'a', 801, 5), change(2, 900, '/run succeeded', 900, 5)]
const most = 100 + 1_000 + LATEST_DELIVERY
const heldUntil = (until: number) => [change(1, 1, 'a', 1_001), change(2, 900, 'a', until)]
const pause: ProcessEntry = { type: 'paused', at: 20, asked: 19, run: 'p', name: 'job', until: 400 }
const owner = 'host/00000000-0000-8000-8000-000000000000'
const ran = (succeeded: boolean): ProcessEntry[] => [
  acquired(owner, 1, 101),
  ended(owner, 51, succeeded),
  outcome(owner, 52),
]
const recorded = (lockedBy: string) => [change(1, 1, owner, 101, 7), change(2, 51, lockedBy, 51, 7)]
const row = change(1, 1, 'a', 101, 7)
const holder = acquired('a', 0, 1_000)
const keeper = (notBefore: number): ProcessEntry[] => [acquired('a', 0, 1_000, { notBefore }), ended('a', 90)]
const forced = [[acquired('a', 120, 200, { asked: 90 })], [acquired('b', 115, 190)]]
const ahead = (clockAhead: number) => segment(0, 100, { clockAhead })
const slotOf = (id: string, at: number, until: boolean) => [...run(id, at, at + 1), slot(id, at, 7, until)]
const keptShort = [change(1, 1, 'a', 1_001), change(2, 100, 'a', 140), change(3, 150, 'b', 1_150)]
const next = change(3, 450, 'b', 1_450)
const begun = run('a', 0, 10).slice(0, 2)
const crash = (origin: 'library' | 'driver'): ProcessEntry => ({
  ...{ type: 'crash', at: 2, error: 'boom', origin },
})
const cLate = (lockedAt: number) => change(4, 1_400, 'c', 2_400, lockedAt)
const bLate = (lockedAt: number) => change(3, 1_000, 'b', 2_000, lockedAt)
const overlap = [run('a', 0, 10), run('b', 9, 20)]

/** Each rule has histories that break it, and no other rule. */
const broken: Readonly<Record<Rule, readonly Case[]>> = {
  exclusion: [
    ['two that hold one lock at once', ...overlap],
    ['an overlap with a run before the last one', run('a', 0, 100), run('b', 200, 210), run('c', 20, 30)],
    ['an overlap with the lease of a killed process', [acquired('a', 0, 50)], run('b', 40, 60)],
    ['an overlap with an extension', [acquired('a', 0, 10), extended(5, 30)], run('b', 20, 25)],
    ['an overlap before a row was destroyed', ...overlap, destroyed(15, 16)],
    ['a request after the row was destroyed', ...forced, destroyed(70, 80)],
    [
      'a leader beside the next',
      [acquired('a', 0, 10), { type: 'held', at: 12, run: 'a' }],
      run('b', 11, 20),
    ],
    ['an overlap that is longer than the next server is ahead', run('a', 0, 30), run('b', 9, 20), ahead(10)],
    ['no overlap where writes are lost', other, { type: 'loses writes' }],
    ['a run whose lock was never acquired', run('a', 1, 2), other, change(1, 1, 'b', 1)],
    ['a held row that was acquired', other, ...held, change(2, 99, 'b', 200)],
    ['a row that was acquired during its extension', other, ...prolonged, change(3, 149, 'b', 190)],
    ['a row that was acquired before the table was truncated', other, ...taken, destroyed(51, 52)],
    ['a row that was acquired during another fault', other, ...taken, injection(49, 51, {})],
  ],
  leases: [
    ['a lease that an unanswered extension cut short', [holder], ...cut],
    ['the same if the row was destroyed later', [holder], ...cut, destroyed(2_000, 2_010)],
  ],
  lockAtLeastFor: [
    ['a lock that was acquired before its lockAtLeastFor was over', keeper(500), ...kept, next],
    ['the same with that of an extension', [holder, extended(50, 1_000, 600), ended('a', 90)], ...kept, next],
    ['the same if the row was destroyed later', keeper(500), ...keptShort, destroyed(200, 210)],
  ],
  ends: [
    ['a lock that was never free', other, { type: 'never free', name: 'job' }],
    ['a row that was still held after its lease', run('a', 0, 10, 100), rows(200 + LATEST_DELIVERY)],
    [
      'an extension after the lease',
      other,
      row,
      { ...change(2, 200, 'a', 300, 7), exact: { at: 200, end: 300 } },
    ],
    ['an acquisition that got it back', other, row, change(2, 150, 'b', 200, 8), change(3, 250, 'a', 300, 9)],
    ['an extension after the release', [...keeper(500), unlocked('a', 110)], ...revived],
    ['a row that is held for longer than requested', [holder, ended('a', 100)], ...heldUntil(most + 100)],
    ['a row that is held for longer, and nobody knew', other, ...heldUntil(10_000)],
  ],
  tokens: [
    ['a token of a task that does not grow', token('a', 0, 3), token('b', 2, 3), token('c', 4, 4)],
    ['a token that is smaller than all', token('a', 0, 3), token('b', 2, 4), token('c', 4, 2)],
    ["a token that is not the row's", [...run('a', 1, 9), { type: 'token', at: 5, run: 'a', token: 9 }], row],
    ['a token of a row that does not grow', other, ...grown, cLate(6)],
    ['the same after a late release', other, ...releasedLate, bLate(5)],
  ],
  slots: [
    ['a slot that ran twice', slotOf('a', 0, false), slotOf('b', 2, false)],
    ['the same after its success', [...slotOf('a', 0, true), unlocked('a', 1)], slotOf('b', 2, true)],
    ['an earlier slot after a later one', [...run('a', 1, 9), slot('a', 1, 8), slot('a', 2, 7)]],
    ['a row that records another slot', [...run('a', 1, 9), slot('a', 1, 8)], row],
    ['a slot that is too far ahead', other, change(1, 1, 'a', 101, 70_000)],
  ],
  outcomes: [
    ['another outcome in the row', ran(false), ...recorded('host/50 succeeded')],
    ['a duration that cannot be right', ran(true), ...recorded('host/500 succeeded')],
  ],
  pauses: [['a run during a pause', [pause], run('d', 200, 210)]],
  refusals: [
    ['a refusal of a lock that had long been free', [...other, refused(1_150)], ...released],
    ['a refusal before that of the next holder', [...other, refused(2_900, 2_970)], ...released],
    ['a refusal long after the last lease', [...other, refused(4_900)], ...released],
    [
      'the same after the row was destroyed',
      [...other, refused(1_150)],
      change(1, 0, 'a', 9_000),
      change(2, 100, null, 0),
    ],
    ['a refusal of a slot that failed', [refusedSlot(7, true)], other, ...recorded('host/50 failed')],
    ['a refusal of a slot for which nothing ran', [refusedSlot(7)], other, ...recorded('host/unlocked')],
  ],
  liveness: [
    ['no acquisition at all', []],
    ['a lock that was free for long', other, ...longFree],
    ['versions without a handover', [started('before'), acquired('a', 1, 2)], [started('after'), ...other]],
  ],
  signals: [['a signal that did not abort', [{ type: 'unaborted', at: 1, run: 'a' }], other]],
  results: [
    ['a result that was lost', [...begun, { type: 'stopped', at: 20 }]],
    ['the result of another task', [...begun, outcome('a', 11, false)]],
  ],
  guard: [
    ['a stale commit with the guard', other, ...commits(true).slice(0, 2)],
    [
      'a lost update with the guard',
      other,
      ...commits(true).slice(0, 1),
      { type: 'resource', name: 'job', value: 0 },
    ],
  ],
  reading: [['a row that was misread', [{ type: 'misread', at: 1, what: 'a pause' }], other]],
  errors: [
    ['an error that the library left unhandled', [crash('library')], other],
    ['a harness that gave up', other, { type: 'gave up', error: 'no server' }],
  ],
}

const intact: readonly Case[] = [
  ['an answer that arrived after the row was destroyed', ...forced, destroyed(100, 110)],
  ['an overlap as long as the next server is ahead', run('a', 0, 30), run('b', 9, 20), ahead(11)],
  ['an overlap where writes are lost', ...overlap, { type: 'loses writes' }],
  [
    'the same after a release by another owner',
    other,
    take,
    change(2, 50, 'a, unlocked', 50, 0),
    change(3, 50, 'b', 90),
  ],
  ['a row that was acquired while the table was truncated', other, ...taken, destroyed(49, 51)],
  [
    'the same within a millisecond',
    other,
    ...taken.map((each) => ({ ...each, at: each.at + 0.4 })),
    destroyed(49, 50),
  ],
  ['a lock that was free for long because of faults', other, ...longFree, ...blocking],
  ['a lock that was free for long after the last segment', other, ...longFree, segment(0, 200)],
  ['a refusal of a lock whose release became visible late', [...other, refused(1_050)], ...released],
  ['a refusal by the next holder', [...other, refused(2_990, 3_001)], ...released],
  ["the same a moment before, by the trigger's clock", [...other, refused(2_900, 2_980)], ...released],
  ['a refusal of a later slot', [refusedSlot(8)], other, ...recorded('host/unlocked')],
  ['an error of a driver', [crash('driver')], other],
  ['a result that a killed process lost', begun],
  ['a stale commit and a lost update without the guard', other, ...commits(false)],
  ['a run after a resume has begun', [pause, { type: 'resuming', at: 150, name: 'job' }], run('d', 200, 210)],
  [
    'the same before the pause was answered',
    [pause],
    [{ type: 'resumed', at: 25, from: 18, name: 'job' }],
    run('d', 200, 210),
  ],
  ['a slot that ran again, as no success was recorded', slotOf('a', 0, true), slotOf('b', 2, true)],
  [
    'a token that follows one from the future',
    other,
    change(1, 1, 'a', 1, 6e4),
    change(2, 9, 'b', 9, 60_001),
  ],
  [
    'a token after the row was destroyed',
    other,
    ...grown,
    change(4, 1_400, null, 0, 0),
    change(5, 1_500, 'c', 2_400, 1),
  ],
  ['a token that grows after a late release', other, ...releasedLate, bLate(6)],
  ['a lease that was cut short after the end of the task', [holder, ended('a', 290)], ...cut],
  ['the same by an extension with an answer', [holder, extended(101, 299)], ...cut],
  ['the same if the row was destroyed', [holder], ...cut, destroyed(50, 60)],
  ['the same before it, if the row was destroyed', keeper(500), ...keptShort, destroyed(120, 160)],
  ['an extension before the release', keeper(500), ...revived],
  ['a row that is held as long as requested', [holder, ended('a', 100)], ...heldUntil(most)],
]

const cases = (Object.keys(broken) as Rule[]).flatMap((rule) =>
  broken[rule].map(([what, ...parts]) => [what, [rule], parts] as const),
)
it.each<readonly [what: string, rules: readonly Rule[], parts: Parts]>([
  ...cases,
  ...intact.map(([what, ...parts]) => [what, [], parts] as const),
  [
    'an acquisition that looks like a release, but prolongs',
    ['exclusion', 'tokens'],
    [other, take, change(2, 50, 'b', 110, 0)],
  ],
  [
    'two overlaps with the same run',
    ['exclusion', 'exclusion'],
    [[...run('a', 0, 100), ...run('b', 10, 20), ...run('c', 30, 40)]],
  ],
])('The referee judges %s: %j', (_, rules, parts) => {
  expect(violationsOf(judge(eventsOf(parts))).map(({ rule }) => rule)).toEqual(rules)
})

function eventsOf(parts: Parts): LockEvent[] {
  return parts.flatMap((part, index) =>
    'type' in part ? [part] : part.map((entry) => ({ process: String(index), ...entry })),
  )
}

it.each<[what: string, rule: Rule, ...parts: Parts]>([
  ['an overlap after the row was destroyed', 'exclusion', ...overlap, destroyed(5, 6)],
  ['a stale commit without the guard', 'guard', other, ...commits(false)],
  ['a row that was held more than a second after its run', 'ends', run('a', 0, 10, 100), rows(1_500)],
])('The referee excuses %s', (_, rule, ...parts) => {
  const findings = judge(eventsOf(parts))
  expect(findings[0]).toMatchObject({ rule })
  expect(violationsOf(findings)).toEqual([])
})

it('The referee distinguishes a takeover from acquiring a released lock', () => {
  const takes = takesOf(
    new History([...held, change(2, 110, 'b', 200), change(3, 150, 'b', 150), change(4, 151, 'c', 300)]),
  )
  expect(takes.map(({ takeover }) => takeover)).toEqual([true, false])
})

it('The referee measures how long a lock was free, except while faults made its acquisition impossible', () => {
  expect(takesOf(new History([...longFree, ...blocking]))).toMatchObject([
    { untaken: late + 1 - 100 - 1_500 },
  ])
})
