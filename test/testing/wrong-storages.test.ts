import ts from 'typescript'
import { describe, expect, it } from '@jest/globals'
import * as core from '../../src/core'
import * as testing from '../../src/testing'
import { read } from '../project'

/** What stands in the documented storage, and what stands there instead. */
type Fault = readonly [right: string, wrong: string]

const OWNER = 'if (this.rows.get(name) !== row) return'
const IS_MINE = 'this.rows.get(name) === row && this.isHeld(name)'
const HELD = "if (this.isHeld(name)) return { reason: 'held' }"
const KEPT_UNTIL = 'Math.min(freeAt, row.until)'
const TOKEN = '(isMine() ? row.lockedAt : undefined)'
const NOW = 'const now = Date.now()'
const AT_LEAST = 'if (atLeast !== undefined) freeAt = now + atLeast'
const HAS_RUN = 'if (lockedAt <= before)'
const EXTENDED_UNTIL = 'row.until = Math.max(row.until, Date.now() + mostFromNow)'
const EXTENDED_LEASE = 'new Lease(mostFromNow - 1)'
const LEASE = 'new Lease(lockAtMostFor - 1)'
const REFUSES_EXTENSION = 'if (!isMine()) return undefined'
const RETRIES = 'untilSucceeded && !succeeded'

const named = (name: string): Fault => [NOW, `${NOW}; name = ${name}`]
const ownerIsTheToken: Fault = [
  IS_MINE,
  'this.rows.get(name)?.lockedAt === row.lockedAt && this.isHeld(name)',
]
const memoryOfEachInstance: Fault = ['super()', 'super(); this.rows = new Map(rows)']
const acquiresInTwoSteps: Fault = [HELD, `${HELD}; await new Promise((resolve) => setTimeout(resolve, 1))`]
const releasesAnyRow: Fault = [OWNER, '']

/** By the title of each case: faults of a storage that this case must notice. */
const FAULTS: Readonly<Record<string, Readonly<Record<string, Fault>>>> = {
  'acquires a lock, refuses it to every instance while it is held, and releases it': {
    'has a memory for each instance': memoryOfEachInstance,
    'lets the instance in that holds the lock': [
      HELD,
      `if (this.isHeld(name) && this.rows.get(name) !== this.last) return { reason: 'held' }
      queueMicrotask(() => { this.last = this.rows.get(name) })`,
    ],
    'never releases': [OWNER, 'return'],
  },
  'is never refused in 200 acquisitions right after a release, each with a greater fencing token': {
    'keeps a lock for a millisecond': [KEPT_UNTIL, `${KEPT_UNTIL} + 1`],
    'counts seconds': [TOKEN, '(isMine() ? Math.floor(row.lockedAt / 1_000) : undefined)'],
  },
  'keeps locks apart whose names differ only in case, accents, composition or their last character, or are SQL':
    {
      'ignores case': named('name.toLowerCase()'),
      'composes names': named("name.normalize('NFC')"),
      'ignores accents': named(String.raw`name.normalize('NFD').replace(/\p{M}/gu, '')`),
      'cuts names': named('name.slice(0, 63)'),
    },
  'does not let a late holder release or change the lock of its successor': {
    'releases whatever row there is': releasesAnyRow,
    'takes every held row for its own': [IS_MINE, 'this.isHeld(name)'],
  },
  'does nothing when a lock is released twice, and keeps the first outcome': {
    'releases whatever row there is': releasesAnyRow,
  },
  'grants its holder nothing after the release, even while lockAtLeastFor keeps the lock held': {
    'takes the token for the owner': ownerIsTheToken,
    'extends what it released': [REFUSES_EXTENSION, 'if (false) return undefined'],
  },
  'does not bring a lock back that is released after its lease': {
    'counts lockAtLeastFor from the release': [KEPT_UNTIL, 'Date.now() + lockAtLeastFor'],
  },
  'has no fencing token for a holder that lost the lock, and a greater one for the next holder': {
    'remembers the token': [TOKEN, 'row.lockedAt'],
  },
  'lets a lock expire that is never released, but not while its holder trusts it': {
    'returns a lease that is too long': [LEASE, 'new Lease(lockAtMostFor + 1_000)'],
  },
  'lets an extended lock expire, but not while its holder trusts it': {
    'returns a lease that is a minute too long': [EXTENDED_LEASE, 'new Lease(mostFromNow + 60_000)'],
  },
  'does not shorten a lease that is extended by less than what is left': {
    'shortens it': [EXTENDED_UNTIL, 'row.until = Date.now() + mostFromNow'],
  },
  'extends a lock beyond its first lease, three times, with the same fencing token': {
    'does not extend': [EXTENDED_UNTIL, ''],
    'has another one': [EXTENDED_UNTIL, `row.lockedAt++; ${EXTENDED_UNTIL}`],
  },
  'does not extend a lock whose lease is over, even if no other caller acquired it': {
    'revives it': [REFUSES_EXTENSION, 'if (this.rows.get(name) !== row) return undefined'],
  },
  'keeps the lock for lockAtLeastFor, even if the task ends sooner, and no longer': {
    'ignores lockAtLeastFor': [KEPT_UNTIL, 'Date.now()'],
    'ignores lockAtLeastFor after a failure': [KEPT_UNTIL, `outcome === 'failed' ? 0 : ${KEPT_UNTIL}`],
  },
  'keeps the lock for the lockAtLeastFor of its last extension, if that has one': {
    'ignores it': [AT_LEAST, ''],
  },
  'drops the previous lockAtLeastFor when an extension sets it to 0': {
    'keeps it': [AT_LEAST, 'if (atLeast) freeAt = now + atLeast'],
  },
  'counts lockAtLeastFor from the acquisition, not from an extension or the release': {
    'counts it from the release': [KEPT_UNTIL, 'Date.now() + lockAtLeastFor'],
    'counts it from the extension': [AT_LEAST, 'if (atLeast !== undefined) freeAt = Date.now() + atLeast'],
  },
  'counts lockAtLeastFor from the acquisition, not from the slot, also after an extension': {
    'counts it from the slot': ['now + lockAtLeastFor', '(slot ?? now) + lockAtLeastFor'],
  },
  'keeps a failed slot for lockAtLeastFor, so that an instance with a late timer does not repeat it at once':
    { 'ignores lockAtLeastFor after a failure': [KEPT_UNTIL, `outcome === 'failed' ? 0 : ${KEPT_UNTIL}`] },
  'releases a lock under which nothing ran at once, whatever lockAtLeastFor says': {
    'keeps it for lockAtLeastFor': ['{ until: 0,', '{ until: freeAt,'],
  },
  'holds a lease of 49.7 days, of which a 32-bit number of milliseconds keeps nothing': {
    'has signed 32-bit leases': ['now + lockAtMostFor', 'now + (lockAtMostFor | 0)'],
    'has a 32-bit lockAtLeastFor': ['now + lockAtLeastFor', 'now + (lockAtLeastFor | 0)'],
  },
  'acquires a slot only once, and returns why it refuses the slot afterwards': {
    'acquires the last slot again': [HAS_RUN, 'if (lockedAt < before)'],
    'repeats every failed slot': [RETRIES, '!succeeded'],
  },
  'acquires any later slot, but no slot before one that was acquired': {
    'refuses only the last slot': [HAS_RUN, 'if (lockedAt === before)'],
    'has a token before the slot': [TOKEN, '(isMine() ? row.lockedAt - 1 : undefined)'],
  },
  'does not acquire the slot of a dead holder again, but acquires the next one': {
    'forgets rows that were not released': [
      'this.rows.get(name) ?? {}',
      "'succeeded' in (this.rows.get(name) ?? {}) ? this.rows.get(name) : {}",
    ],
  },
  'does not acquire a slot that was due before a run without a slot': {
    'counts runs instead of times': ['slot ?? Math.max(now, before + 1)', 'slot ?? before + 1'],
  },
  'acquires a lock without a slot after any slot, even one in the future': {
    'believes the clock': ['Math.max(now, before + 1)', 'now'],
  },
  'refuses a slot more than a minute in the future, and leaves no trace': {
    'refuses every slot in the future': [HAS_RUN, 'if (lockedAt <= before || lockedAt > now + 1_000)'],
    'writes the slot': [
      'slot > now + MINUTE',
      'slot > now + MINUTE && this.rows.set(name, { until: 0, lockedAt: slot })',
    ],
  },
  'acquires a slot again until it has succeeded, with a greater token each time': {
    'acquires it again after a success': [RETRIES, 'untilSucceeded'],
    'takes a run without an outcome for a success': ["outcome === 'succeeded'", "outcome !== 'failed'"],
    'has the same token each time': ['tokenOfRetry(lockedAt, before)', 'before'],
  },
  'does not acquire a slot again after a later slot, even if the later one failed': {
    'acquires any slot after a failure': ['tokenOfRetry(lockedAt, before)', 'before + 1'],
  },
  'acquires the slot of a dead holder again with untilSucceeded, even if the slot before succeeded': {
    'keeps the success of the slot before': [
      'lockAtMostFor, lockedAt }',
      'lockAtMostFor, lockedAt, succeeded }',
    ],
  },
  'counts a success that is reported after the lease, if the lock was not acquired since': {
    'writes a late outcome into any row': [OWNER, 'Object.assign(row, this.rows.get(name))'],
  },
  'acquires a slot again, but no earlier one, if nothing ran, even if its lease is over': {
    'keeps the slot': ['row.lockedAt - 1', 'row.lockedAt'],
    'ignores a late release': [OWNER, 'if (!isMine()) return'],
  },
  'never lets two of eight workers run under one lock at the same time, whether they share a provider or not':
    { 'acquires in two steps': acquiresInTwoSteps, 'has a memory for each instance': memoryOfEachInstance },
  'runs each slot exactly once if the clocks of sixteen contenders differ by at most one interval': {
    'acquires the last slot again': [HAS_RUN, 'if (lockedAt < before)'],
    'refuses the slot after the last one': [HAS_RUN, 'if (lockedAt <= before + 1_000)'],
  },
}

const [storage = ''] = read('examples/own-storage.ts').split('\nconst rows =')

/** Returns the suite for the documented storage, with a fault. */
function suiteOf([right, wrong]: Fault): ReturnType<typeof testing.lockProviderSuite> {
  expect(storage.split(right)).toHaveLength(2)
  const program = `${storage.replace(right, () => wrong)}\nexports.Storage = MapLockProvider`
  const { outputText } = ts.transpileModule(program, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS },
  })
  const exports = {} as { Storage: Storage }
  // oxlint-disable-next-line typescript/no-implied-eval
  const run = new Function('exports', 'require', outputText) as (...all: unknown[]) => void
  run(exports, (name: string) => (name === 'shedlock-orm' ? core : testing))
  const { Storage } = exports
  const rows = new Map<string, unknown>()
  return testing.lockProviderSuite({
    createProvider: () => new Storage(rows),
    isHeld: (name) => new Storage(rows).isHeld(name),
  })
}

type Storage = new (rows: Map<string, unknown>) => core.LockProvider & { isHeld(name: string): boolean }

it('Every case of the suite notices a wrong storage', () => {
  expect(Object.keys(FAULTS)).toEqual(suiteOf(['super()', 'super()']).map(({ title }) => title))
})

/** Runs a case of the suite on the documented storage, with a fault. */
const runCase = (title: string, fault: Fault): Promise<void> | undefined =>
  suiteOf(fault)
    .find((one) => one.title === title)
    ?.run()

it('A case that fails says which lock is in which state', async () => {
  const title = 'keeps the lock for the lockAtLeastFor of its last extension, if that has one'
  await expect(runCase(title, [AT_LEAST, ''])).rejects.toThrow(/^lock '.*' should be held/)
})

it('A case tries again with a longer lease if an extension was answered only after the first one', async () => {
  const title = 'extends a lock beyond its first lease, three times, with the same fencing token'
  // The row is extended all the same, so that nobody acquires it before somebody releases it.
  const late = `if (mostFromNow === 60_000) {
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    throw new Error('no answer in time')
  }`
  await runCase(title, [EXTENDED_UNTIL, `${EXTENDED_UNTIL}\n${late}`])
})

it.concurrent.each(Object.keys(FAULTS))('The documented storage passes: %s', async (title) => {
  await runCase(title, ['super()', 'super()'])
})

describe.each(Object.entries(FAULTS))('the case "%s"', (title, faults) => {
  it.concurrent.each(Object.entries(faults))('notices a storage that %s', async (_, fault) => {
    await expect(runCase(title, fault)).rejects.toMatchObject({ code: 'ERR_ASSERTION' })
  })
})
