import { describe, expect, it, jest } from '@jest/globals'
import { executeOnce, leaderElection, LockingTaskExecutor, type LockProvider } from '../../src/core/internal'
import { shedLockCoordinator } from '../../src/node-cron/shed-lock-coordinator'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { HOUR, job, SECOND, settle, useVirtualTime } from './on-virtual-time'

const world = useVirtualTime()

/** Somebody who uses the provider. */
interface User {
  /** Resolves when the run under the lock has ended. */
  readonly run: Promise<unknown>
  end(): void
  stop(): Promise<unknown>
}

/** Begins a run under a lock that has the name of its user. */
type Begin = (provider: LockProvider, name: string) => User

const USERS: Readonly<Record<string, Begin>> = {
  executor(provider, name) {
    const ended = promiseWithResolvers()
    const executor = new LockingTaskExecutor(provider)
    const run = executor.executeWithLock(job(name), () => ended.promise)
    return { run, end: () => ended.resolve(), stop: () => executor.shutdown({ timeout: '1s' }) }
  },
  election(provider, name) {
    const ended = promiseWithResolvers()
    const election = leaderElection(provider, job(name), {
      onElected: () => ended.promise,
      onError: () => undefined,
    })
    const stop = () => election.shutdown({ timeout: '1s' })
    // Its run ends with it. It waits for longer than the outage lasts.
    const end = () => {
      ended.resolve()
      void election.shutdown({ timeout: '10m' })
    }
    return { run: ended.promise, end, stop }
  },
  coordinator(provider, name) {
    const key = `${name}:2026-11-20T20:44:53.000Z`
    const coordinator = shedLockCoordinator(provider)
    const run = coordinator.shouldRun(key, HOUR)
    const end = () => void coordinator.onComplete(key)
    return { run, end, stop: () => coordinator.shutdown({ timeout: '1s' }) }
  },
  executeOnce(provider, name) {
    const ended = promiseWithResolvers()
    const stop = new AbortController()
    const configuration = { ...job(name), signal: stop.signal }
    const run = executeOnce(provider, configuration, () => ended.promise)
    const abort = () => {
      stop.abort()
      return Promise.resolve()
    }
    return { run, end: () => ended.resolve(), stop: abort }
  },
}
const names = Object.keys(USERS)
/** Each of them beside an executor. */
const pairs = [
  ...names.map((stopped) => ({ stopped, other: 'executor' })),
  ...names.slice(1).map((other) => ({ stopped: 'executor', other })),
]

async function begin(user: string, name: string): Promise<User> {
  const begun = USERS[user]?.(world.provider, name)
  if (!begun) throw new Error(user)
  begun.run.catch(() => undefined)
  await jest.advanceTimersByTimeAsync(1)
  return begun
}

describe.each(pairs)('while an $other goes on, an $stopped that stops', ({ stopped, other }) => {
  it('leaves alone the release that an outage delays after it', async () => {
    const one = await begin(stopped, 'stopped')
    const two = await begin(other, 'other')
    expect(await world.held()).toEqual(['other', 'stopped'])
    one.end()
    await settle(one.stop(), 2 * SECOND)
    expect(await world.held()).toEqual(['other'])
    world.network.fault = 'no connection'
    two.end()
    await jest.advanceTimersByTimeAsync(20 * SECOND)
    expect(await world.held()).toEqual(['other'])
    world.network.fault = undefined
    await jest.advanceTimersByTimeAsync(30 * SECOND)
    expect(await world.held()).toEqual([])
  })
})
