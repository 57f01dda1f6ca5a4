import { expect, it, jest } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/internal'
import { dialects, DriverError, SqlLockProvider, type LockRecord } from '../../src/sql/internal'
import { promiseWithResolvers } from '../promise-with-resolvers'
import {
  expectFailure,
  held,
  HOUR,
  job,
  LIMIT,
  MINUTE,
  network,
  other,
  provider,
  SECOND,
  settle,
  useVirtualTime,
} from './on-virtual-time'

useVirtualTime()

const FAILED = { code: 'DATABASE_ERROR' }
const TIMED_OUT = { code: 'TIMEOUT' }

/** Its timers are not real either. */
const drain = (): Promise<void> => settle(provider.drain(10 * SECOND))

/** Acquires locks without an answer. */
async function acquireUnanswered(
  how: 'request lost' | 'answer lost',
  count = 1,
  name = 'job',
): Promise<void> {
  network.fault = how
  for (let index = 0; index < count; index++)
    await expect(provider.lock(job(`${name} ${index}`))).rejects.toMatchObject(FAILED)
  network.fault = undefined
}

/** The pauses between the writes since a moment, in milliseconds. */
function pauses(since = 0): number[] {
  return network.sent.slice(1).flatMap((time, index) => {
    const before = network.sent[index] ?? 0
    return before >= since ? [time - before] : []
  })
}

it('releases a lock whose acquisition got no answer, at once', async () => {
  await acquireUnanswered('answer lost')
  expect(await held()).toEqual(['job 0'])
  await jest.advanceTimersByTimeAsync(1)
  expect(await held()).toEqual([])
  expect(network.sent).toHaveLength(2)
})

it('sends nothing for acquisitions that had no connection', async () => {
  network.fault = 'no connection'
  const locks = Array.from({ length: 20 }, (_, index) =>
    expect(provider.lock(job(`job ${index}`))).rejects.toMatchObject(FAILED),
  )
  await jest.advanceTimersByTimeAsync(LIMIT)
  await Promise.all(locks)
  network.fault = undefined
  expect(jest.getTimerCount()).toBe(0)
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  await drain()
  expect(network.sent).toEqual([])
})

it('does not acquire a lock that no caller waits for any more, and sends nothing if it has only read', async () => {
  const gate = network.stall('reads')
  await expectFailure(provider.lock(job('given up')), TIMED_OUT)
  network.gate = {}
  await jest.advanceTimersByTimeAsync(HOUR)
  gate.resolve()
  await jest.advanceTimersByTimeAsync(HOUR)
  expect(network.sent).toEqual([])
  expect(await held()).toEqual([])
})

it('sends a release whose answer was lost once more', async () => {
  const lock = await provider.lock(job())
  network.fault = 'answer lost'
  await expectFailure(lock?.unlock(), FAILED)
  network.fault = undefined
  network.sent.length = 0
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(network.sent).toHaveLength(1)
})

it('sends the release of a late acquisition once more if its answer was lost, and leaves its time as it was', async () => {
  const gate = network.stall('writes')
  await expectFailure(provider.lock(job()), TIMED_OUT)
  network.gate = {}
  network.sent.length = 0
  let acquired: LockRecord | undefined
  network.next = async (send) => {
    acquired = await other.table.find('job')
    await send()
    throw new DriverError(undefined, 'ECONNRESET')
  }
  gate.resolve()
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(network.sent).toHaveLength(2)
  expect(await other.table.find('job')).toMatchObject({ held: false, lockedAt: acquired?.lockedAt })
})

it('waits longer for a late acquisition than its lease, which starts only when it arrives', async () => {
  network.next = 'late'
  await expectFailure(provider.lock({ ...job(), lockAtMostFor: 8 * SECOND }), TIMED_OUT)
  await jest.advanceTimersByTimeAsync(6 * SECOND)
  await network.deliver()
  await jest.advanceTimersByTimeAsync(1)
  expect(await held()).toEqual([])
})

it('leaves the time of the last run as it was when it releases a pause', async () => {
  const slot = Date.now()
  await (await provider.lock({ ...job(), slot }))?.unlock()
  network.next = 'answer lost'
  await expectFailure(provider.table.pause('job', { duration: '8h', reason: 'answer lost' }), FAILED)
  await jest.advanceTimersByTimeAsync(1)
  expect(await other.table.find('job')).toMatchObject({ held: false, lockedAt: new Date(slot) })
})

it('sends each release when it is due', async () => {
  await acquireUnanswered('request lost', 1, 'lost')
  // It found nothing, and the next attempt is minutes away.
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  network.sent.length = 0
  await acquireUnanswered('answer lost', 1, 'late')
  await jest.advanceTimersByTimeAsync(1)
  expect(await held()).toEqual([])
  // The acquisition and its release.
  expect(network.sent).toHaveLength(2)
})

it('waits a time limit for the answer to an acquisition, and then releases the row, although no error was reported', async () => {
  network.next = async (send) => {
    await send()
    return new Promise(() => undefined)
  }
  await expectFailure(provider.lock(job()), TIMED_OUT)
  network.sent.length = 0
  await jest.advanceTimersByTimeAsync(LIMIT - 1)
  expect(network.sent).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  expect(network.sent).toHaveLength(1)
  expect(await held()).toEqual([])
})

it('sends one statement at a time', async () => {
  await acquireUnanswered('answer lost', 50)
  const gate = network.stall('writes')
  await jest.advanceTimersByTimeAsync(1)
  network.gate = {}
  // One more, while the first release is under way.
  await acquireUnanswered('answer lost', 1, 'more')
  network.most = 0
  await jest.advanceTimersByTimeAsync(LIMIT / 2)
  expect(network.most).toBe(0)
  gate.resolve()
  await jest.advanceTimersByTimeAsync(1)
  expect(await held()).toEqual([])
  expect(network.most).toBe(1)
})

it('is not kept waiting by a statement that hangs', async () => {
  await acquireUnanswered('answer lost', 3)
  network.gate.writes = new Promise(() => undefined)
  await jest.advanceTimersByTimeAsync(LIMIT)
  network.gate = {}
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(await held()).toEqual([])
})

it('waits longer and longer while the database does not answer, however many locks are to be released', async () => {
  await acquireUnanswered('answer lost', 20)
  const since = performance.now()
  network.fault = 'request lost'
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  const [first = 0, ...others] = pauses(since)
  expect(first).toBeLessThan(SECOND)
  expect(others.length).toBeLessThan(60)
  expect(others.slice(-10).every((pause) => pause >= 15 * SECOND && pause <= 30 * SECOND)).toBe(true)
  network.fault = undefined
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
  await network.deliver()
  expect(await held()).toEqual(['job 0'])
  await jest.advanceTimersByTimeAsync(30 * MINUTE)
  expect(await held()).toEqual([])
  expect(jest.getTimerCount()).toBe(0)
})

it('drops an acquisition whose lease would be over', async () => {
  await acquireUnanswered('request lost')
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  const sent = network.sent.length
  await jest.advanceTimersByTimeAsync(24 * HOUR)
  expect(network.sent).toHaveLength(sent)
  expect(jest.getTimerCount()).toBe(0)
})

it('keeps a thousand releases, and leaves the oldest row to expire', async () => {
  await acquireUnanswered('answer lost', 1_005)
  network.sent.length = 0
  await drain()
  expect(network.sent).toHaveLength(1_000)
  expect(await held()).toEqual([0, 1, 2, 3, 4].map((index) => `job ${index}`))
})

it.each(['acquired it', 'found it held'])('uses a late answer: the statement %s', async (answer) => {
  const gate = network.stall('writes')
  const refused = expect(provider.lock(job('late'))).rejects.toMatchObject(TIMED_OUT)
  await jest.advanceTimersByTimeAsync(1)
  // It was free when it was looked at.
  const isHeld = answer === 'found it held'
  if (isHeld) expect(await other.lock(job('late'))).toBeDefined()
  await jest.advanceTimersByTimeAsync(LIMIT - 1)
  await refused
  network.sent.length = 0
  gate.resolve()
  await jest.advanceTimersByTimeAsync(1)
  expect(network.sent).toHaveLength(isHeld ? 0 : 1)
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(network.sent).toHaveLength(isHeld ? 0 : 1)
  expect(await held()).toEqual(isHeld ? ['late'] : [])
})

it.each(['acquired it', 'found it held'])(
  'rejects with the reason of its signal when that aborts before the answer: the statement %s',
  async (answer) => {
    const isHeld = answer === 'found it held'
    if (isHeld) await other.lock(job('aborted'))
    const gate = promiseWithResolvers()
    network.gate = { writes: gate.promise, reads: gate.promise }
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
  network.fault = 'answer lost'
  await expectFailure(lock?.extend(2 * HOUR), FAILED)
  network.fault = 'request lost'
  await expectFailure(lock?.unlock(), FAILED)
  await jest.advanceTimersByTimeAsync(30 * MINUTE)
  expect(await held()).toEqual(['extended'])
  network.fault = undefined
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(await held()).toEqual([])
})

it('tries again soon once a connection that was silent has answered', async () => {
  await acquireUnanswered('answer lost')
  const gate = promiseWithResolvers<{ rows: []; changed: number }>()
  network.fault = () => gate.promise
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(network.sent).toHaveLength(3)
  network.fault = undefined
  gate.resolve({ rows: [], changed: 0 })
  await jest.advanceTimersByTimeAsync(30 * SECOND)
  expect(await held()).toEqual([])
})

it('tries a third connection two minutes after two of them have fallen silent, and a fourth after four more', async () => {
  await acquireUnanswered('answer lost')
  network.fault = () => new Promise<never>(() => undefined)
  for (const [minutes, sent] of [
    [1, 3],
    [2, 4],
    [3, 4],
  ] as const) {
    await jest.advanceTimersByTimeAsync(minutes * MINUTE)
    expect(network.sent).toHaveLength(sent)
  }
  network.fault = undefined
  expect(await held()).toEqual(['job 0'])
  await jest.advanceTimersByTimeAsync(2 * MINUTE)
  expect(network.sent).toHaveLength(5)
  expect(await held()).toEqual([])
})

it('drain() waits for the releases', async () => {
  await acquireUnanswered('answer lost', 3)
  const gate = network.stall('writes')
  let isDrained = false
  const drained = provider.drain().then(() => (isDrained = true))
  await jest.advanceTimersByTimeAsync(SECOND)
  expect(isDrained).toBe(false)
  gate.resolve()
  await settle(drained)
  expect(await held()).toEqual([])
  expect(jest.getTimerCount()).toBe(0)
})

it('drain() waits for the answer to an acquisition, and does not end the release of a lock that was acquired meanwhile', async () => {
  const gate = network.stall('writes')
  await expectFailure(provider.lock(job('late')), TIMED_OUT)
  network.gate = {}
  const drained = provider.drain()
  const lock = await provider.lock(job('meanwhile'))
  await jest.advanceTimersByTimeAsync(SECOND)
  gate.resolve()
  await settle(drained)
  expect(await held()).toEqual(['meanwhile'])
  network.fault = 'request lost'
  await expectFailure(lock?.unlock(), FAILED)
  network.fault = undefined
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(await held()).toEqual([])
})

it('drain() waits for and ends the releases of an executor whose acquisition was still under way', async () => {
  network.stall('writes')
  const failed = expect(
    new LockingTaskExecutor(provider).executeWithLock(job('late'), () => undefined),
  ).rejects.toMatchObject(TIMED_OUT)
  await jest.advanceTimersByTimeAsync(SECOND)
  const drained = provider.drain(20 * SECOND)
  await jest.advanceTimersByTimeAsync(LIMIT)
  await failed
  // Releases get through, and find nothing.
  network.gate = {}
  await settle(drained, 20 * SECOND)
  const sent = network.sent.length
  // The acquisition, and releases while drain() waited.
  expect(sent).toBeGreaterThan(1)
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(network.sent).toHaveLength(sent)
})

it('drain() sends a release for an acquisition that fell silent while it waited', async () => {
  network.stall('writes')
  const failed = expect(provider.lock(job('silent'))).rejects.toMatchObject(TIMED_OUT)
  await jest.advanceTimersByTimeAsync(1)
  // Its debt is no older than the end of the drain.
  const drained = provider.drain(2 * LIMIT)
  await jest.advanceTimersByTimeAsync(LIMIT)
  await failed
  network.gate = {}
  await settle(drained, LIMIT)
  expect(network.sent.length).toBeGreaterThan(1)
})

it('drain() releases what it can as soon as the database answers again', async () => {
  await acquireUnanswered('answer lost', 3)
  network.fault = 'no connection'
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  const drained = provider.drain(30 * SECOND)
  await jest.advanceTimersByTimeAsync(28 * SECOND)
  network.fault = undefined
  await settle(drained, 2 * SECOND)
  expect(await held()).toEqual([])
})

it('drain() releases an acquisition that arrives shortly after a release found nothing', async () => {
  await acquireUnanswered('request lost')
  const drained = provider.drain()
  await jest.advanceTimersByTimeAsync(10)
  expect(network.sent).toHaveLength(2)
  await network.deliver()
  expect(await held()).toEqual(['job 0'])
  await settle(drained, SECOND)
  expect(await held()).toEqual([])
})

it('drain() does not wait for an acquisition that may still arrive, once two releases found nothing', async () => {
  await acquireUnanswered('request lost', 3)
  await settle(provider.drain(), SECOND)
  expect(network.sent).toHaveLength(3 + 2 * 3)
})

it('drain() gives up after its timeout, and nothing is sent afterwards until the next lock', async () => {
  const lock = await provider.lock(job('mine'))
  await acquireUnanswered('answer lost', 3)
  network.gate.writes = new Promise(() => undefined)
  await settle(provider.drain(SECOND), SECOND)
  network.gate = {}
  network.fault = 'request lost'
  await expectFailure(lock?.unlock(), FAILED)
  network.fault = undefined
  network.sent.length = 0
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(network.sent).toEqual([])

  network.fault = 'answer lost'
  await expect(provider.lock(job('again'))).rejects.toMatchObject(FAILED)
  network.fault = undefined
  await jest.advanceTimersByTimeAsync(1)
  expect(await held()).toEqual(['job 0', 'job 1', 'job 2', 'mine'])
})

it.each<[how: string, stop: (executor: LockingTaskExecutor, endTask: () => void) => Promise<unknown>]>([
  ['drain()', drain],
  [
    'drain() that still waits',
    async (_, endTask) => {
      await acquireUnanswered('answer lost')
      network.fault = 'request lost'
      const drained = provider.drain(10 * SECOND)
      endTask()
      await settle(drained, 10 * SECOND)
    },
  ],
  [
    'the shutdown of an executor, beside which others go on,',
    async (executor) => {
      await settle(executor.shutdown({ timeout: SECOND }), SECOND)
      await provider.lock(job('other'))
    },
  ],
])('%s also stops what an executor adds, whose task it does not wait for', async (_, stop) => {
  const executor = new LockingTaskExecutor(provider)
  const ended = promiseWithResolvers()
  const run = executor.executeWithLock(job('late'), () => ended.promise)
  await jest.advanceTimersByTimeAsync(1)
  await stop(executor, () => ended.resolve())
  network.fault = 'request lost'
  ended.resolve()
  await jest.advanceTimersByTimeAsync(LIMIT)
  await run
  network.fault = undefined
  network.sent.length = 0
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(network.sent).toEqual([])
})

it('a release that found nothing is repeated if the acquisition arrived, and was answered, before its own answer', async () => {
  // The acquisition is on its way when its caller gives up.
  network.next = 'late'
  await expectFailure(provider.lock(job()), TIMED_OUT)
  const answer = promiseWithResolvers()
  network.next = async (send) => {
    const found = await send()
    await answer.promise
    return found
  }
  await jest.advanceTimersByTimeAsync(LIMIT)
  expect(await held()).toEqual([])
  await network.deliver()
  expect(await held()).toEqual(['job'])
  answer.resolve()
  await jest.advanceTimersByTimeAsync(SECOND)
  expect(await held()).toEqual([])
})

it('a drain keeps what is acquired while it waits, also if that gets no answer', async () => {
  await acquireUnanswered('request lost', 1, 'before')
  const drained = provider.drain(SECOND)
  await acquireUnanswered('answer lost', 1, 'meanwhile')
  network.gate.writes = new Promise(() => undefined)
  await settle(drained, SECOND)
  network.gate = {}
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(await held()).toEqual([])
})

it('drain(0) sends nothing', async () => {
  await acquireUnanswered('answer lost', 3)
  network.sent.length = 0
  await settle(provider.drain(0), HOUR)
  expect(network.sent).toEqual([])
})

it('a second drain waits for the same releases', async () => {
  await acquireUnanswered('answer lost')
  const gate = network.stall('writes')
  const drained: string[] = []
  const both = ['first', 'second'].map((name) => provider.drain().then(() => drained.push(name)))
  await jest.advanceTimersByTimeAsync(SECOND)
  expect(drained).toEqual([])
  gate.resolve()
  await settle(Promise.all(both))
  expect(await held()).toEqual([])
})

it('a drain sends a release although two of its connections are silent', async () => {
  await acquireUnanswered('answer lost')
  network.fault = () => new Promise<never>(() => undefined)
  await jest.advanceTimersByTimeAsync(MINUTE)
  network.fault = undefined
  await settle(provider.drain(SECOND), SECOND)
  expect(await held()).toEqual([])
})

it('providers of one client send their releases one at a time, and keep a thousand of them together', async () => {
  const providers = Array.from({ length: 3 }, () => new SqlLockProvider(network, dialects.sqlite))
  network.fault = 'answer lost'
  for (let index = 0; index < 1_002; index++)
    await expect(providers[index % 3]?.lock(job(`job ${index}`))).rejects.toMatchObject(FAILED)
  network.fault = undefined
  network.sent.length = 0
  network.most = 0
  await settle(Promise.all(providers.map((each) => each.drain())), SECOND)
  expect(network.sent).toHaveLength(1_000)
  expect(network.most).toBe(1)
  expect(await held()).toEqual(['job 0', 'job 1'])
})
