import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/internal'
import { dialects, DriverError, type SqlClient, SqlLockProvider } from '../../src/sql/internal'
import { LostRace, type FailureKind } from '../../src/sql/failures'
import { LIMIT, SECOND, settle, useVirtualTime } from './on-virtual-time'

const job = { name: 'job', lockAtMostFor: '1h' }
const TIMES_OUT = new Promise<never>(() => undefined)

/** Of a call that got no session, nothing fails: see session-pool.test.ts. */
type Kind = Exclude<FailureKind, 'crowded'>

/** How each failure of a statement looks to the lock. */
const FAULTS: Readonly<Record<Kind, () => Promise<never>>> = {
  conflict: () => Promise.reject(new LostRace()),
  'read-only': () => Promise.reject(new DriverError('READ_ONLY', 'standby')),
  unprepared: () => Promise.reject(new DriverError('NOT_PREPARED', 'unprepared')),
  'no-connection': () => Promise.reject(new DriverError(undefined, 'ECONNREFUSED', false)),
  'no-room': () => Promise.reject(new DriverError('SQLITE_BUSY', 'full', false)),
  'pool-exhausted': () => Promise.reject(new DriverError(undefined, 'pool timeout', false)),
  unanswered: () => Promise.reject(new DriverError(undefined, 'ECONNRESET')),
  'given-up': () => TIMES_OUT,
  unreplicated: () => Promise.reject(new DriverError('NOT_REPLICATED', 'no standby')),
  joined: () => Promise.reject(new DriverError('JOINED_TRANSACTION', 'begun by the app')),
  refused: () => Promise.reject(new DriverError('SQLITE_FULL', 'disk full')),
}
const KINDS = Object.keys(FAULTS) as Kind[]

/**
 * What is seen of each:
 *
 * 1. whether a write, and a read, is sent again, and after which pauses
 * 2. what becomes of a session that can be ended, and of one that cannot
 * 3. which error the caller gets; and which one after a conflict that is followed by silence
 * 4. whether the client is asked if it is unusable
 */
const SEEN: Readonly<Record<Kind, readonly unknown[]>> = {
  conflict: ['again', 'again', 'short', 'release', 'release', 'too busy', 'the conflict', false],
  'read-only': ['again', 'again', 'growing', 'end', 'leave and release', 'accept writes', 'it', false],
  unprepared: ['again', 'again', 'growing', 'end', 'release', 'too busy', 'the conflict', false],
  'no-connection': ['again', 'again', 'growing', '', '', 'failed, before', 'it', true],
  'no-room': ['again', 'again', 'growing', '', '', 'too busy', 'it', true],
  'pool-exhausted': ['again', 'again', 'growing', '', '', 'did not answer', 'it', true],
  unanswered: ['once', 'again', 'growing', 'end and release', 'release', 'ECONNRESET', 'the conflict', true],
  'given-up': ['once', 'again', 'few', 'end and release', 'release', 'did not answer', 'the conflict', true],
  unreplicated: ['once', 'again', 'growing', 'release', 'release', 'answered', 'the conflict', true],
  joined: ['again', 'again', 'growing', 'end', 'release', 'open transaction', 'it', false],
  // The table is looked at, too.
  refused: ['once', 'again', 'few', 'release', 'release', 'answered', 'it', false],
}

interface GivenSession {
  /** The lines of the sources that asked for it. */
  readonly opened: string
  /** How it was given back. */
  readonly ways: string[]
}

const world = useVirtualTime()
let given: GivenSession[]
let isFaulty: (step: string) => boolean
let fault: () => Promise<never>
let canEnd: boolean
let unusable: LockError | undefined

/** Fails at one step: when a session is opened, or when a statement is sent. */
const client: SqlClient = {
  async connect() {
    if (isFaulty('connect')) return fault()
    const ways: string[] = []
    given.push({ ways, opened: linesOfSources(new Error().stack) })
    const session = await world.network.connect()
    return {
      execute: (...statement) => {
        expect(ways).toEqual([])
        if (!isFaulty(statement[2] === 'rows' ? 'read' : 'write')) return session.execute(...statement)
        if (fault !== FAULTS['given-up']) return fault()
        return new Promise((_, reject) => {
          setTimeout(() => {
            reject(new DriverError(undefined, 'answered late'))
          }, 20 * SECOND)
        })
      },
      release: () => ways.push('release'),
      ...(canEnd && { end: () => ways.push('end') }),
    }
  },
  dropReadOnly: () => Promise.resolve(given.at(-1)?.ways.push('leave')),
  unusable: () => unusable,
}

/** The first lines of a stack that are under src, as `sql/calls.ts:12`. */
function linesOfSources(stack = ''): string {
  const lines = [...stack.matchAll(/\bat (?:async )?(\S+) .*?[\\/]src[\\/](\S+?:\d+):\d+/g)]
  return lines
    .slice(0, 4)
    .map(([, name, line]) => `by ${name} at src/${line}`)
    .join(', ')
}

describe.each(KINDS)('after the failure "%s"', (kind) => {
  beforeEach(() => {
    given = []
    isFaulty = () => false
    fault = FAULTS[kind]
  })

  it.each(
    ['connect', 'read', 'write'].flatMap((step) =>
      [true, false].map((ends) => ({ step, ends, by: ends ? 'can be ended' : 'cannot be ended' })),
    ),
  )('of the step $step, each session that $by goes back exactly once', async ({ step, ends }) => {
    canEnd = ends
    const provider = new SqlLockProvider(client, dialects.sqlite, { timeLimit: LIMIT })
    const lock = await provider.lock(job)
    const other = provider.lock({ ...job, name: 'known' })
    await (await other)?.unlock()
    isFaulty = (current) => current === step
    const calls = [
      provider.lock({ ...job, name: 'new' }),
      lock?.extend('2h'),
      lock?.fencingToken(),
      lock?.unlock(),
      provider.table.list(),
    ].map((call) => Promise.resolve(call).catch(() => undefined))
    await settle(Promise.all(calls), 2 * LIMIT)
    isFaulty = () => false
    await settle(provider.drain('10s'), 10 * SECOND)
    // Late answers arrive.
    await jest.advanceTimersByTimeAsync(60 * SECOND)
    // A session that is left is left besides.
    const wrong = given
      .map(({ opened, ways }) => ({ opened, backs: ways.filter((way) => way !== 'leave') }))
      .filter(({ backs }) => backs.length !== 1)
    const lines = wrong.map(
      ({ opened, backs }) => `${backs.join(' and ') || 'not given back'}: opened ${opened}`,
    )
    expect([...new Set(lines)]).toEqual([])
    expect(given.length).toBeGreaterThan(4)
  })
  it('is handled as it should be, in each column of the table', async () => {
    const provider = new SqlLockProvider(client, dialects.sqlite, { timeLimit: LIMIT })
    const lock = await provider.lock(job)
    const isBefore = ['no-connection', 'no-room', 'pool-exhausted'].includes(kind)
    let asked: number[] = []
    /** Lets a call fail again and again, at last for ever. */
    const failing = async (step: string, call?: () => Promise<unknown>, ...faults: Kind[]) => {
      asked = []
      isFaulty = (current) => {
        if (current !== (isBefore ? 'connect' : step)) return false
        fault = FAULTS[faults[asked.length] ?? faults.at(-1) ?? kind]
        return asked.push(performance.now()) > 0
      }
      const ended = Promise.resolve(call?.()).then(() => 'none', String)
      return settle(
        ended.finally(() => (isFaulty = () => false)),
        2 * LIMIT,
      )
    }
    const read = () => lock?.fencingToken() ?? Promise.resolve()
    const waysOf = async (ends: boolean) => {
      canEnd = ends
      given = []
      for (let count = 0; count < 12; count += asked.length) await failing('read', read)
      // Late answers arrive.
      await jest.advanceTimersByTimeAsync(60 * SECOND)
      return [...new Set(given.flatMap(({ ways }) => ways))].sort().join(' and ')
    }
    const ways = [await waysOf(true), await waysOf(false)]
    const told = await failing('read', read)
    const [, , , fourth = 0, fifth = 0] = asked
    const pauses = fifth === 0 ? 'few' : fifth - fourth > 16 ? 'growing' : 'short'
    const reads = asked.length > 1 ? 'again' : 'once'
    const last = await failing('read', read, 'conflict', kind, 'given-up')
    unusable = new LockError('INVALID_CLIENT', 'destroyed')
    const isAsked = (await failing('read', read)).includes('destroyed')
    unusable = undefined
    await failing('write', () => provider.lock({ ...job, name: 'new' }))
    const writes = asked.length > 1 ? 'again' : 'once'
    await settle(provider.drain('10s'), 10 * SECOND)
    const words = String(SEEN[kind][5])
    const says = told.includes(words) ? words : told
    const after = last.includes('was faster') ? 'the conflict' : 'it'
    expect([writes, reads, pauses, ...ways, says, after, isAsked]).toEqual(SEEN[kind])
  })
})
