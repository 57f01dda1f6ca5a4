import { expect, it, jest } from '@jest/globals'
import { sleep } from '../../src/core/internal'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { dialects, DriverError, type LockRecord, SqlLockProvider } from '../../src/sql/internal'
import { promiseWithResolvers } from '../promise-with-resolvers'
import type { Fault } from '../unreliable-client'
import { expectFailure, HOUR, job, LIMIT, MINUTE, SECOND, settle, useVirtualTime } from './on-virtual-time'

const world = useVirtualTime()

const FAILED = { code: 'DATABASE_ERROR' }
const TIMED_OUT = { code: 'TIMEOUT' }

/** Its timers are not real either. */
const drain = (): Promise<void> => settle(world.provider.drain(10 * SECOND))

/** Acquires locks without an answer. */
async function acquireUnanswered(
  how: 'request lost' | 'answer lost',
  count = 1,
  name = 'job',
): Promise<void> {
  world.network.fault = how
  for (let index = 0; index < count; index++)
    await expect(world.provider.lock(job(`${name} ${index}`))).rejects.toMatchObject(FAILED)
  world.network.fault = undefined
}

/** The pauses between the writes since a moment, in milliseconds. */
function pauses(since = 0): number[] {
  return world.network.sent.slice(1).flatMap((time, index) => {
    const before = world.network.sent[index] ?? 0
    return before >= since ? [time - before] : []
  })
}

it('a provider sends nothing for acquisitions that had no connection', async () => {
  world.network.fault = 'no connection'
  const locks = Array.from({ length: 20 }, (_, index) =>
    expect(world.provider.lock(job(`job ${index}`))).rejects.toMatchObject(FAILED),
  )
  await jest.advanceTimersByTimeAsync(LIMIT)
  await Promise.all(locks)
  world.network.fault = undefined
  expect(jest.getTimerCount()).toBe(0)
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  await drain()
  expect(world.network.sent).toEqual([])
})

it('a provider acquires no lock that nobody waits for any more, and sends nothing if it has only read', async () => {
  const gate = world.network.stall('reads')
  await expectFailure(world.provider.lock(job('given up')), TIMED_OUT)
  world.network.gate = {}
  await jest.advanceTimersByTimeAsync(HOUR)
  gate.resolve()
  await jest.advanceTimersByTimeAsync(HOUR)
  expect(world.network.sent).toEqual([])
  expect(await world.held()).toEqual([])
})

it('a provider sends a release whose answer was lost once more', async () => {
  const lock = await world.provider.lock(job())
  world.network.fault = 'answer lost'
  await expectFailure(lock?.unlock(), FAILED)
  world.network.fault = undefined
  world.network.sent.length = 0
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(world.network.sent).toHaveLength(1)
})

/** It finds the row no more. */
const afterTheLease: Fault = async (send) => {
  await sleep(2 * SECOND)
  const row = await world.other.table.find('job')
  expect(row && (await world.other.table.release(row))).toBe(true)
  return send()
}

it.each<[string, Fault, number]>([
  ['may have been executed before', 'answer lost', 3],
  ['arrives after the end of the lease', afterTheLease, 2],
])('a release that %s does not say that the lock was lost', async (_, fault, sent) => {
  const lost = jest.fn()
  const executor = new LockingTaskExecutor(world.provider, { listeners: [{ onLockLost: lost }] })
  const short = { ...job(), lockAtMostFor: SECOND }
  await settle(
    executor.executeWithLock(short, () => {
      world.network.next = fault
    }),
    3 * SECOND,
  )
  expect(world.network.sent).toHaveLength(sent)
  expect(lost).not.toHaveBeenCalled()
})

it('a provider records that a run ended before its lease, also if its release comes later', async () => {
  const lock = await world.provider.lock({ ...job(), lockAtMostFor: SECOND })
  world.network.fault = 'no connection'
  const unlocked = lock?.unlock({ outcome: 'succeeded' })
  await jest.advanceTimersByTimeAsync(2 * SECOND)
  world.network.fault = undefined
  await settle(Promise.resolve(unlocked), SECOND)
  const { lastRun } = (await world.other.table.find('job')) ?? {}
  expect([lastRun?.outcome, lastRun?.error]).toEqual(['succeeded', undefined])
})

it('a provider repeats the release of a late acquisition whose answer was lost, and leaves its time as it was', async () => {
  const gate = world.network.stall('writes')
  await expectFailure(world.provider.lock(job()), TIMED_OUT)
  world.network.gate = {}
  world.network.sent.length = 0
  let acquired: LockRecord | undefined
  world.network.next = async (send) => {
    acquired = await world.other.table.find('job')
    await send()
    throw new DriverError(undefined, 'ECONNRESET')
  }
  gate.resolve()
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(world.network.sent).toHaveLength(2)
  expect(await world.other.table.find('job')).toMatchObject({ held: false, lockedAt: acquired?.lockedAt })
})

it('a provider waits longer for a late acquisition than its lease, which starts only when it arrives', async () => {
  world.network.next = 'late'
  await expectFailure(world.provider.lock({ ...job(), lockAtMostFor: 8 * SECOND }), TIMED_OUT)
  await jest.advanceTimersByTimeAsync(9 * SECOND)
  await world.network.deliver()
  await jest.advanceTimersByTimeAsync(1)
  expect(await world.held()).toEqual([])
})

it('a provider leaves the time of the last run as it was when it releases a pause', async () => {
  const slot = Date.now()
  await (await world.provider.lock({ ...job(), slot }))?.unlock()
  world.network.next = 'answer lost'
  await expectFailure(world.provider.table.pause('job', { duration: '8h', reason: 'answer lost' }), FAILED)
  await jest.advanceTimersByTimeAsync(1)
  expect(await world.other.table.find('job')).toMatchObject({ held: false, lockedAt: new Date(slot) })
})

it('a provider frees the slot of an acquisition without an answer, because nothing has run for it', async () => {
  const due = { ...job(), slot: Date.now() }
  world.network.next = 'answer lost'
  await expectFailure(world.provider.lock(due), FAILED)
  await jest.advanceTimersByTimeAsync(1)
  expect(await world.other.lock(due)).toBeDefined()
})

it('a provider keeps its process alive for no release that waits', async () => {
  const timers = jest.spyOn(globalThis, 'setTimeout')
  await acquireUnanswered('answer lost')
  expect((timers.mock.results.at(-1)?.value as NodeJS.Timeout | undefined)?.hasRef()).toBe(false)
})

it('a provider sends each release when it is due', async () => {
  await acquireUnanswered('request lost', 1, 'lost')
  // It found nothing, and the next attempt is minutes away.
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  world.network.sent.length = 0
  await acquireUnanswered('answer lost', 1, 'late')
  await jest.advanceTimersByTimeAsync(1)
  expect(await world.held()).toEqual([])
  // The acquisition and its release.
  expect(world.network.sent).toHaveLength(2)
})

it('a provider waits a time limit for an acquisition, and then releases the row, also without an error', async () => {
  world.network.next = async (send) => {
    await send()
    return new Promise(() => undefined)
  }
  await expectFailure(world.provider.lock(job()), TIMED_OUT)
  world.network.sent.length = 0
  await jest.advanceTimersByTimeAsync(LIMIT - 1)
  expect(world.network.sent).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  expect(world.network.sent).toHaveLength(1)
  expect(await world.held()).toEqual([])
})

it('a provider sends one release in the background at a time', async () => {
  await acquireUnanswered('answer lost', 50)
  const gate = world.network.stall('writes')
  await jest.advanceTimersByTimeAsync(1)
  world.network.gate = {}
  // One more, while the first release is under way.
  await acquireUnanswered('answer lost', 1, 'more')
  world.network.most = 0
  await jest.advanceTimersByTimeAsync(LIMIT / 2)
  expect(world.network.most).toBe(0)
  gate.resolve()
  await jest.advanceTimersByTimeAsync(1)
  expect(await world.held()).toEqual([])
  expect(world.network.most).toBe(1)
})

it('a provider sends the other releases before it repeats one that hangs', async () => {
  await acquireUnanswered('answer lost', 2)
  world.network.fault = (send, _, { name }) =>
    name === 'job 0' ? new Promise<never>(() => undefined) : send()
  await jest.advanceTimersByTimeAsync(LIMIT + SECOND)
  expect(await world.held()).toEqual(['job 0'])
  world.network.fault = undefined
  await jest.advanceTimersByTimeAsync(5 * MINUTE)
})

it('a provider waits longer and longer while the database does not answer, for any number of locks, and then as before', async () => {
  // A drain hurries only while it waits.
  await drain()
  // What was answered before does not count.
  for (let time = 0; time < 9; time++) {
    await acquireUnanswered('answer lost')
    await jest.advanceTimersByTimeAsync(1)
  }
  await acquireUnanswered('answer lost', 20)
  world.network.sent.length = 0
  world.network.fault = 'request lost'
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  const [first = 0, ...others] = pauses()
  expect(first).toBeLessThan(SECOND)
  expect(others.length).toBeLessThan(60)
  expect(others.slice(-10).every((pause) => pause >= 15 * SECOND && pause <= 30 * SECOND)).toBe(true)
  world.network.fault = undefined
  await jest.advanceTimersByTimeAsync(30 * SECOND)
  expect(await world.held()).toEqual([])
  await acquireUnanswered('answer lost')
  world.network.next = 'no connection'
  await jest.advanceTimersByTimeAsync(SECOND)
  expect(await world.held()).toEqual([])
})

it('a provider repeats the release of a late acquisition, ever more rarely, until its lease would be over', async () => {
  await acquireUnanswered('request lost')
  const since = performance.now()
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  expect(pauses(since)[1]).toBeLessThanOrEqual(600)
  expect(pauses(since).length).toBeLessThan(10)
  expect(pauses(since).at(-1)).toBeGreaterThan(MINUTE)
  await world.network.deliver()
  expect(await world.held()).toEqual(['job 0'])
  await jest.advanceTimersByTimeAsync(30 * MINUTE)
  expect(await world.held()).toEqual([])
  expect(jest.getTimerCount()).toBe(0)
})

it('a provider drops an acquisition whose lease would be over', async () => {
  await acquireUnanswered('request lost')
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  const sent = world.network.sent.length
  await jest.advanceTimersByTimeAsync(24 * HOUR)
  expect(world.network.sent).toHaveLength(sent)
  expect(jest.getTimerCount()).toBe(0)
})

it('a provider uses a late answer: a write found it held', async () => {
  const gate = world.network.stall('writes')
  const refused = expect(world.provider.lock(job('late'))).rejects.toMatchObject(TIMED_OUT)
  await jest.advanceTimersByTimeAsync(1)
  // It was free when it was looked at.
  expect(await world.other.lock(job('late'))).toBeDefined()
  await jest.advanceTimersByTimeAsync(LIMIT - 1)
  await refused
  world.network.sent.length = 0
  gate.resolve()
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(world.network.sent).toEqual([])
  expect(await world.held()).toEqual(['late'])
})

it.each(['acquired it', 'found it held'])(
  'a provider rejects with the reason of its signal when that aborts before the answer: the statement %s',
  async (answer) => {
    const isHeld = answer === 'found it held'
    if (isHeld) await world.other.lock(job('aborted'))
    const gate = promiseWithResolvers()
    world.network.gate = { writes: gate.promise, reads: gate.promise }
    const controller = new AbortController()
    const reason = new Error('changed my mind')
    const { signal } = controller
    const aborted = expect(world.provider.lock({ ...job('aborted'), signal })).rejects.toBe(reason)
    await jest.advanceTimersByTimeAsync(1)
    controller.abort(reason)
    gate.resolve()
    await jest.advanceTimersByTimeAsync(1)
    await aborted
    expect(await world.held()).toEqual(isHeld ? ['aborted'] : [])
  },
)

it('a provider uses a late answer to a release: with writes slower than its time limit, it ends', async () => {
  const lock = await world.provider.lock(job())
  world.network.fault = async (send, isWrite) => {
    if (isWrite) await sleep(LIMIT + SECOND)
    return send()
  }
  await expectFailure(lock?.unlock(), TIMED_OUT)
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(await world.held()).toEqual([])
  world.network.sent.length = 0
  await jest.advanceTimersByTimeAsync(HOUR)
  expect(world.network.sent).toEqual([])
})

it.each([
  [MINUTE, 2 * HOUR],
  [2 * HOUR, MINUTE],
])(
  'a provider releases a lock of %d ms after an outage, that may be extended to %d',
  async (first, second) => {
    const lock = await world.provider.lock({ name: 'extended', lockAtMostFor: first })
    world.network.fault = 'answer lost'
    await expectFailure(lock?.extend(second), FAILED)
    world.network.fault = 'request lost'
    await expectFailure(lock?.unlock(), FAILED)
    await jest.advanceTimersByTimeAsync(30 * MINUTE)
    expect(await world.held()).toEqual(['extended'])
    world.network.fault = undefined
    await jest.advanceTimersByTimeAsync(MINUTE)
    expect(await world.held()).toEqual([])
  },
)

it('a provider tries again soon once the database has answered another call, and however many more', async () => {
  const lock = await world.provider.lock(job('long'))
  world.network.fault = 'no connection'
  await expectFailure(lock?.unlock(), FAILED)
  await jest.advanceTimersByTimeAsync(5 * MINUTE)
  world.network.fault = undefined
  for (let call = 0; call < 11; call++) await settle(world.provider.table.list(), SECOND / 10)
  expect(await world.held()).toEqual([])
})

it('a provider tries again soon once a connection that was silent has answered', async () => {
  await acquireUnanswered('answer lost')
  const gate = promiseWithResolvers<{ rows: []; changed: number }>()
  world.network.fault = () => gate.promise
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(world.network.sent).toHaveLength(3)
  // They are silent again, and count anew.
  world.network.fault = () => new Promise<never>(() => undefined)
  gate.resolve({ rows: [], changed: 0 })
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(world.network.sent).toHaveLength(5)
  world.network.fault = undefined
  await jest.advanceTimersByTimeAsync(2 * MINUTE)
  expect(await world.held()).toEqual([])
})

it('a provider tries a third connection two minutes after two fell silent, and a fourth after four more', async () => {
  await acquireUnanswered('answer lost')
  world.network.fault = () => new Promise<never>(() => undefined)
  for (const [minutes, sent] of [
    [1, 3],
    [2, 4],
    [3, 4],
  ] as const) {
    await jest.advanceTimersByTimeAsync(minutes * MINUTE)
    expect(world.network.sent).toHaveLength(sent)
  }
  world.network.fault = undefined
  expect(await world.held()).toEqual(['job 0'])
  await jest.advanceTimersByTimeAsync(2 * MINUTE)
  expect(world.network.sent).toHaveLength(5)
  expect(await world.held()).toEqual([])
})

it('drain() waits for the answer to an acquisition, and keeps what is acquired meanwhile', async () => {
  const gate = world.network.stall('writes')
  await expectFailure(world.provider.lock(job('late')), TIMED_OUT)
  world.network.gate = {}
  const drained = world.provider.drain()
  const lock = await world.provider.lock(job('meanwhile'))
  await jest.advanceTimersByTimeAsync(SECOND)
  gate.resolve()
  await settle(drained)
  expect(await world.held()).toEqual(['meanwhile'])
  world.network.fault = 'request lost'
  await expectFailure(lock?.unlock(), FAILED)
  world.network.fault = undefined
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(await world.held()).toEqual([])
})

it('drain() waits for the acquisition of an executor that was under way, and ends its releases', async () => {
  world.network.stall('writes')
  const run = new LockingTaskExecutor(world.provider).executeWithLock(job('late'), () => undefined)
  const failed = expect(run).rejects.toMatchObject(TIMED_OUT)
  await jest.advanceTimersByTimeAsync(1)
  // Its debt is no older than the end of the drain.
  const drained = world.provider.drain(2 * LIMIT)
  await jest.advanceTimersByTimeAsync(LIMIT)
  await failed
  // Releases get through, and find nothing.
  world.network.gate = {}
  await settle(drained, LIMIT)
  const sent = world.network.sent.length
  // The acquisition, and releases while drain() waited.
  expect(sent).toBeGreaterThan(1)
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(world.network.sent).toHaveLength(sent)
})

it.each([
  [30 * SECOND, 28 * SECOND],
  [SECOND, 300],
])('drain(%d) releases what it can once the database answers again after %d ms', async (timeout, silence) => {
  jest.spyOn(Math, 'random').mockReturnValue(1)
  await acquireUnanswered('answer lost', 3)
  world.network.fault = 'no connection'
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  const drained = world.provider.drain(timeout)
  await jest.advanceTimersByTimeAsync(silence)
  world.network.fault = undefined
  await settle(drained, timeout - silence)
  expect(await world.held()).toEqual([])
})

it('drain(), or a shutdown, does not wait for an acquisition that may still arrive, once two releases found nothing', async () => {
  await acquireUnanswered('request lost', 3)
  await settle(world.provider.drain(), SECOND)
  expect(world.network.sent).toHaveLength(3 + 2 * 3)
  const executor = new LockingTaskExecutor(world.provider)
  world.network.next = 'request lost'
  await expect(executor.executeWithLock(job(), () => undefined)).rejects.toMatchObject(FAILED)
  await settle(executor.shutdown(), SECOND)
  expect(world.network.sent).toHaveLength(3 + 2 * 3 + 3)
})

it('drain() gives up after its timeout, and nothing is sent afterwards until the next lock', async () => {
  const lock = await world.provider.lock(job('mine'))
  await acquireUnanswered('answer lost', 3)
  world.network.gate.writes = new Promise(() => undefined)
  await settle(world.provider.drain(SECOND), SECOND)
  world.network.gate = {}
  world.network.fault = 'request lost'
  await expectFailure(lock?.unlock(), FAILED)
  world.network.fault = undefined
  world.network.sent.length = 0
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(world.network.sent).toEqual([])

  world.network.fault = 'answer lost'
  await expect(world.provider.lock(job('again'))).rejects.toMatchObject(FAILED)
  world.network.fault = undefined
  await jest.advanceTimersByTimeAsync(1)
  expect(await world.held()).toEqual(['job 0', 'job 1', 'job 2', 'mine'])
})

it.each<[how: string, stop: (executor: LockingTaskExecutor, endTask: () => void) => Promise<unknown>]>([
  ['drain()', drain],
  [
    'drain() that still waits',
    async (_, endTask) => {
      await acquireUnanswered('answer lost')
      world.network.fault = 'request lost'
      const drained = world.provider.drain(10 * SECOND)
      endTask()
      await settle(drained, 10 * SECOND)
    },
  ],
  [
    'the shutdown of an executor, beside which others go on,',
    async (executor) => {
      await settle(executor.shutdown({ timeout: SECOND }), SECOND)
      await world.provider.lock(job('other'))
    },
  ],
])('%s also stops what an executor adds, whose task it does not wait for', async (_, stop) => {
  const executor = new LockingTaskExecutor(world.provider)
  const ended = promiseWithResolvers()
  const run = executor.executeWithLock(job('late'), () => ended.promise)
  await jest.advanceTimersByTimeAsync(1)
  await stop(executor, () => ended.resolve())
  world.network.fault = 'request lost'
  ended.resolve()
  await jest.advanceTimersByTimeAsync(LIMIT)
  await run
  world.network.fault = undefined
  world.network.sent.length = 0
  await jest.advanceTimersByTimeAsync(2 * HOUR)
  expect(world.network.sent).toEqual([])
})

it('a release that found nothing is repeated if the acquisition is answered before it', async () => {
  // The acquisition is on its way when its caller gives up.
  world.network.next = 'late'
  await expectFailure(world.provider.lock(job()), TIMED_OUT)
  const answer = promiseWithResolvers()
  // The release changes nothing, and the read that finds out why is answered late.
  world.network.fault = async (send, isWrite) => {
    const found = await send()
    if (!isWrite) await answer.promise
    return found
  }
  await jest.advanceTimersByTimeAsync(LIMIT)
  expect(await world.held()).toEqual([])
  await world.network.deliver()
  expect(await world.held()).toEqual(['job'])
  world.network.fault = undefined
  answer.resolve()
  await jest.advanceTimersByTimeAsync(1)
  expect(await world.held()).toEqual([])
})

it('a caller that goes on after its drain, and that of the provider, leaves no lock held', async () => {
  const caller = world.provider.forCaller()
  await Promise.all([caller.drain?.(0), world.provider.drain(0)])
  world.network.next = 'answer lost'
  await expectFailure(caller.acquire({ ...job(), lockAtLeastFor: 0 }), FAILED)
  await jest.advanceTimersByTimeAsync(1)
  expect(await world.held()).toEqual([])
})

it.each([
  [620, 2],
  [40, 1],
])('drain(%d) sends a release of a busy row %d times, and none in its last moment', async (timeout, sent) => {
  jest.spyOn(Math, 'random').mockReturnValue(1)
  await acquireUnanswered('answer lost')
  world.network.fault = () => Promise.reject(new DriverError('SQLITE_BUSY', 'busy'))
  world.network.sent.length = 0
  await settle(world.provider.drain(timeout), timeout)
  expect(world.network.sent).toHaveLength(sent)
})

it('drain() waits for the releases, and so do a second one and the shutdown of the executor', async () => {
  const executor = new LockingTaskExecutor(world.provider)
  world.network.fault = 'answer lost'
  await expect(executor.executeWithLock(job(), () => undefined)).rejects.toMatchObject(FAILED)
  world.network.fault = undefined
  await executor.executeWithLock(job('other'), () => undefined)
  const gate = world.network.stall('writes')
  const ended: number[] = []
  const ends = [world.provider.drain(), world.provider.drain(), executor.shutdown()]
  const all = Promise.all(ends.map((end, each) => end.then(() => ended.push(each))))
  await jest.advanceTimersByTimeAsync(SECOND)
  expect(ended).toEqual([])
  gate.resolve()
  await settle(all)
  expect(await world.held()).toEqual([])
})

it.each<[string, Fault]>([
  ['two of its connections are silent', () => new Promise<never>(() => undefined)],
  ['an outage has made it wait', 'no connection'],
])('a drain sends a release at once, and soon again, although %s', async (_, fault) => {
  await acquireUnanswered('answer lost')
  world.network.fault = fault
  await jest.advanceTimersByTimeAsync(5 * MINUTE)
  world.network.fault = undefined
  world.network.next = 'no connection'
  await settle(world.provider.drain(SECOND / 2), SECOND / 2)
  expect(await world.held()).toEqual([])
})

it('a drain gives up a release that is under way on a silent connection, and sends it on another', async () => {
  await acquireUnanswered('answer lost', 3)
  world.network.next = () => new Promise(() => undefined)
  await jest.advanceTimersByTimeAsync(SECOND)
  expect(world.network.sent).toHaveLength(4)
  await settle(world.provider.drain(2 * SECOND), 2 * SECOND)
  expect(await world.held()).toEqual([])
})

it('a provider repeats the release of a busy row ever more rarely, those of others at once, and a drain both', async () => {
  await acquireUnanswered('answer lost', 2)
  world.network.fault = (send, _, { name }) =>
    name === 'job 0' ? Promise.reject(new DriverError('SQLITE_BUSY', 'busy')) : send()
  await jest.advanceTimersByTimeAsync(10)
  expect(await world.held()).toEqual(['job 0'])
  await jest.advanceTimersByTimeAsync(5 * MINUTE)
  const last = pauses().slice(-9)
  expect(last.every((pause) => pause >= 5 * SECOND && pause <= 10 * SECOND)).toBe(true)
  const drained = world.provider.drain(SECOND)
  await jest.advanceTimersByTimeAsync(10)
  world.network.fault = undefined
  await settle(drained, SECOND)
  expect(await world.held()).toEqual([])
})

it('a late read of an attempt that was given up does not hide the write of the next one', async () => {
  const read = world.network.stall('reads')
  const failed = expect(world.provider.lock(job())).rejects.toMatchObject(TIMED_OUT)
  await jest.advanceTimersByTimeAsync(LIMIT / 2 - 100)
  world.network.gate = {}
  world.network.next = 'late'
  await jest.advanceTimersByTimeAsync(600)
  read.resolve()
  await jest.advanceTimersByTimeAsync(LIMIT)
  await failed
  await world.network.deliver()
  await jest.advanceTimersByTimeAsync(10 * MINUTE)
  expect(await world.held()).toEqual([])
})

it('a slot that is acquired again without an answer is released', async () => {
  const due = { ...job(), slot: Date.now() - MINUTE, untilSucceeded: true }
  await (await world.provider.lock(due))?.unlock({ outcome: 'failed' })
  await jest.advanceTimersByTimeAsync(LIMIT)
  world.network.fault = async (send, isWrite, values) => {
    const answer = await send()
    if (!isWrite || !('seenBy' in values)) return answer
    world.network.fault = 'no connection'
    throw new DriverError(undefined, 'ECONNRESET')
  }
  await expectFailure(world.provider.lock(due), FAILED, LIMIT + SECOND)
  expect(await world.held()).toEqual(['job'])
  world.network.fault = undefined
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(await world.held()).toEqual([])
})

it('a drain ends with the last acquisition that was under way', async () => {
  const write = world.network.stall('writes')
  const lock = world.provider.lock(job())
  await jest.advanceTimersByTimeAsync(10)
  const drained = world.provider.drain(10 * SECOND)
  world.network.gate = {}
  write.resolve()
  await settle(drained, SECOND)
  await (await lock)?.unlock()
})

it('providers of one client send their releases one at a time, and keep a thousand of them together', async () => {
  const providers = Array.from({ length: 3 }, () => new SqlLockProvider(world.network, dialects.sqlite))
  world.network.fault = 'answer lost'
  for (let index = 0; index < 1_002; index++)
    await expect(providers[index % 3]?.lock(job(`job ${index}`))).rejects.toMatchObject(FAILED)
  world.network.fault = undefined
  world.network.sent.length = 0
  world.network.most = 0
  await settle(Promise.all(providers.map((each) => each.drain())), SECOND)
  expect(world.network.sent).toHaveLength(1_000)
  expect(world.network.most).toBe(1)
  expect(await world.held()).toEqual(['job 0', 'job 1'])
})
