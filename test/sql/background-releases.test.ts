import { DataSource } from 'typeorm'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import type { LockErrorCode } from '../../src/core/internal'
import { dialects, SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { typeOrmClient } from '../conformance/sql-clients'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { Line } from './line'
import { clientOf, senderOf } from '../statement-sender'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** Of one step. */
const LIMIT = 5 * SECOND

let dataSource: DataSource
let line: Line
let provider: SqlLockProvider
let other: SqlLockProvider

beforeEach(async () => {
  dataSource = await new DataSource({ type: 'better-sqlite3', database: ':memory:' }).initialize()
  line = new Line(senderOf(typeOrmClient(dataSource, 'sqlite')))
  provider = new SqlLockProvider(clientOf(line), dialects.sqlite, { timeLimit: LIMIT })
  other = typeOrmLockProvider(dataSource)
  await other.table.create()
  jest.useFakeTimers()
  // The table is looked at once.
  await (await provider.lock(job('first')))?.unlock()
  line.sent.length = 0
})

afterEach(async () => {
  await drain(0)
  expect(jest.getTimerCount()).toBe(0)
  jest.useRealTimers()
  await dataSource.destroy()
})

function job(name: string) {
  return { name, lockAtMostFor: HOUR }
}

async function held(): Promise<string[]> {
  return (await other.table.list()).filter((lock) => lock.held).map(({ name }) => name)
}

/** Its timers are not real either. */
async function drain(timeout = 10 * SECOND): Promise<void> {
  const drained = provider.drain({ timeout })
  await jest.advanceTimersByTimeAsync(1)
  await drained
}

/** Acquires locks without an answer. */
async function acquireUnanswered(
  how: 'request lost' | 'answer lost',
  count = 1,
  name = 'job',
): Promise<void> {
  line.state = how
  for (let index = 0; index < count; index++)
    await expect(provider.lock(job(`${name} ${index}`))).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
  line.state = 'up'
}

/** Sees a step fail within its time limit. */
async function expectFailure(step: Promise<unknown> | undefined, code: LockErrorCode): Promise<void> {
  const failed = expect(step).rejects.toMatchObject({ code })
  await jest.advanceTimersByTimeAsync(LIMIT)
  await failed
}

/** The pauses between the writes since a moment, in milliseconds. */
function pauses(since = 0): number[] {
  return line.sent.slice(1).flatMap((time, index) => {
    const before = line.sent[index] ?? 0
    return before >= since ? [time - before] : []
  })
}

it('releases a lock whose acquisition got no answer, at once', async () => {
  await acquireUnanswered('answer lost')
  expect(await held()).toEqual(['job 0'])
  await jest.advanceTimersByTimeAsync(1)
  expect(await held()).toEqual([])
  expect(line.sent).toHaveLength(2)
})

it('sends nothing for acquisitions that had no connection', async () => {
  line.state = 'no connection'
  const locks = Array.from({ length: 300 }, (_, index) =>
    expect(provider.lock(job(`job ${index}`))).rejects.toMatchObject({ code: 'DATABASE_ERROR' }),
  )
  await jest.advanceTimersByTimeAsync(LIMIT)
  await Promise.all(locks)
  line.state = 'up'
  expect(jest.getTimerCount()).toBe(0)
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  await drain()
  expect(line.sent).toEqual([])
})

it('sends one statement at a time', async () => {
  await acquireUnanswered('answer lost', 50)
  const gate = line.stall('writes')
  await jest.advanceTimersByTimeAsync(1)
  line.gate = {}
  // One more, while the first release is under way.
  await acquireUnanswered('answer lost', 1, 'more')
  line.most = 0
  await jest.advanceTimersByTimeAsync(LIMIT / 2)
  expect(line.most).toBe(0)
  gate.resolve()
  await jest.advanceTimersByTimeAsync(1)
  expect(await held()).toEqual([])
  expect(line.most).toBe(1)
})

it('is not kept waiting by a statement that hangs', async () => {
  await acquireUnanswered('answer lost', 3)
  line.gate.writes = new Promise(() => undefined)
  await jest.advanceTimersByTimeAsync(LIMIT)
  line.gate = {}
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(await held()).toEqual([])
})

it('waits longer and longer while the database does not answer, however many locks are to be released', async () => {
  await acquireUnanswered('answer lost', 20)
  const since = performance.now()
  line.state = 'request lost'
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  const [first = 0, ...others] = pauses(since)
  expect(first).toBeLessThan(SECOND)
  expect(others.length).toBeLessThan(60)
  expect(others.slice(-10).every((pause) => pause >= 15 * SECOND && pause <= 30 * SECOND)).toBe(true)
  line.state = 'up'
  await jest.advanceTimersByTimeAsync(30 * SECOND)
  expect(await held()).toEqual([])
})

it('repeats the release of an acquisition that may still arrive, at longer and longer intervals until its lease would be over', async () => {
  await acquireUnanswered('request lost')
  const since = performance.now()
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  expect(pauses(since).length).toBeGreaterThan(2)
  expect(pauses(since).length).toBeLessThan(10)
  expect(pauses(since).at(-1)).toBeGreaterThan(MINUTE)
  await line.deliverLost()
  expect(await held()).toEqual(['job 0'])
  await jest.advanceTimersByTimeAsync(30 * MINUTE)
  expect(await held()).toEqual([])
  expect(jest.getTimerCount()).toBe(0)
})

it('drops an acquisition whose lease would be over', async () => {
  await acquireUnanswered('request lost')
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  const sent = line.sent.length
  await jest.advanceTimersByTimeAsync(24 * HOUR)
  expect(line.sent).toHaveLength(sent)
  expect(jest.getTimerCount()).toBe(0)
})

it('keeps a thousand releases, and leaves the oldest row to expire', async () => {
  await acquireUnanswered('answer lost', 1_005)
  line.sent.length = 0
  await drain()
  expect(line.sent).toHaveLength(1_000)
  expect((await held()).sort()).toEqual([0, 1, 2, 3, 4].map((index) => `job ${index}`))
})

it.each(['acquired it', 'found it held'])('hears a late answer: the statement %s', async (answer) => {
  const gate = line.stall('writes')
  const refused = expect(provider.lock(job('late'))).rejects.toMatchObject({ code: 'TIMEOUT' })
  await jest.advanceTimersByTimeAsync(1)
  // It was free when it was looked at.
  const isHeld = answer === 'found it held'
  if (isHeld) expect(await other.lock(job('late'))).toBeDefined()
  await jest.advanceTimersByTimeAsync(LIMIT - 1)
  await refused
  line.sent.length = 0
  gate.resolve()
  await jest.advanceTimersByTimeAsync(1)
  expect(line.sent).toHaveLength(isHeld ? 0 : 1)
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(line.sent).toHaveLength(isHeld ? 0 : 1)
  expect(await held()).toEqual(isHeld ? ['late'] : [])
})

it('does not acquire a lock that no caller waits for any more', async () => {
  const gate = line.stall('reads')
  await expectFailure(provider.lock(job('given up')), 'TIMEOUT')
  gate.resolve()
  await jest.advanceTimersByTimeAsync(HOUR)
  expect(line.sent).toEqual([])
  expect(await held()).toEqual([])
})

it.each(['acquired it', 'found it held'])(
  'rejects with the reason of its signal when that aborts before the answer: the statement %s',
  async (answer) => {
    const isHeld = answer === 'found it held'
    if (isHeld) await other.lock(job('aborted'))
    const gate = promiseWithResolvers()
    line.gate = { writes: gate.promise, reads: gate.promise }
    const controller = new AbortController()
    const reason = new Error('changed my mind')
    const { signal } = controller
    const aborted = expect(provider.lock({ ...job('aborted'), signal })).rejects.toBe(reason)
    await jest.advanceTimersByTimeAsync(1)
    controller.abort(reason)
    gate.resolve()
    await jest.advanceTimersByTimeAsync(1)
    await aborted
    expect(await held()).toEqual(isHeld ? ['aborted'] : [])
  },
)

it('releases a lock after an outage for as long as an extension without an answer may last', async () => {
  const lock = await provider.lock({ name: 'extended', lockAtMostFor: MINUTE })
  line.state = 'answer lost'
  await expectFailure(lock?.extend(2 * HOUR), 'DATABASE_ERROR')
  line.state = 'request lost'
  await expectFailure(lock?.unlock(), 'DATABASE_ERROR')
  await jest.advanceTimersByTimeAsync(30 * MINUTE)
  expect(await held()).toEqual(['extended'])
  line.state = 'up'
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(await held()).toEqual([])
})

it('drain() waits for the releases', async () => {
  await acquireUnanswered('answer lost', 3)
  const gate = line.stall('writes')
  let isDrained = false
  const drained = provider.drain().then(() => (isDrained = true))
  await jest.advanceTimersByTimeAsync(SECOND)
  expect(isDrained).toBe(false)
  gate.resolve()
  await jest.advanceTimersByTimeAsync(1)
  await drained
  expect(await held()).toEqual([])
  expect(jest.getTimerCount()).toBe(0)
})

it('drain() waits for the answer to an acquisition that is still under way', async () => {
  const gate = line.stall('writes')
  await expectFailure(provider.lock(job('late')), 'TIMEOUT')
  // Releases get through, and find nothing.
  line.gate = {}
  const drained = provider.drain()
  await jest.advanceTimersByTimeAsync(SECOND)
  gate.resolve()
  await jest.advanceTimersByTimeAsync(1)
  await drained
  expect(await held()).toEqual([])
  expect(jest.getTimerCount()).toBe(0)
})

it('drain() releases what it can as soon as the database answers again', async () => {
  await acquireUnanswered('answer lost', 3)
  line.state = 'no connection'
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  const drained = provider.drain({ timeout: 30 * SECOND })
  await jest.advanceTimersByTimeAsync(28 * SECOND)
  line.state = 'up'
  await jest.advanceTimersByTimeAsync(2 * SECOND)
  await drained
  expect(await held()).toEqual([])
})

it('drain() releases an acquisition that arrives shortly after a release found nothing', async () => {
  await acquireUnanswered('request lost')
  const drained = provider.drain()
  await jest.advanceTimersByTimeAsync(10)
  expect(line.sent).toHaveLength(2)
  await line.deliverLost()
  expect(await held()).toEqual(['job 0'])
  await jest.advanceTimersByTimeAsync(SECOND)
  await drained
  expect(await held()).toEqual([])
})

it('drain() does not wait for an acquisition that may still arrive, once two releases found nothing', async () => {
  await acquireUnanswered('request lost', 3)
  const drained = provider.drain()
  await jest.advanceTimersByTimeAsync(SECOND)
  await drained
  expect(line.sent).toHaveLength(3 + 2 * 3)
})

it('drain() gives up after its timeout, and nothing is sent afterwards until the next lock', async () => {
  const lock = await provider.lock(job('mine'))
  await acquireUnanswered('answer lost', 3)
  line.gate.writes = new Promise(() => undefined)
  const drained = provider.drain({ timeout: SECOND })
  await jest.advanceTimersByTimeAsync(SECOND)
  await drained
  line.gate = {}
  line.state = 'request lost'
  await expectFailure(lock?.unlock(), 'DATABASE_ERROR')
  line.state = 'up'
  line.sent.length = 0
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(line.sent).toEqual([])

  line.state = 'answer lost'
  await expect(provider.lock(job('again'))).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
  line.state = 'up'
  await jest.advanceTimersByTimeAsync(1)
  expect((await held()).sort()).toEqual(['job 0', 'job 1', 'job 2', 'mine'])
})
