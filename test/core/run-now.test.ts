import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { executeOnce } from '../../src/core/execute-once'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { leaderElection } from '../../src/core/leader-election'
import type { TaskResult } from '../../src/core/lock'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { runNow } from '../../src/core/wrapped-task'
import { afterTest } from '../after-test'
import { promiseWithResolvers } from '../promise-with-resolvers'

const lock = { name: 'report', lockAtMostFor: '10m', lockAtLeastFor: 0 }
let executor: LockingTaskExecutor

beforeEach(() => {
  executor = new LockingTaskExecutor(new InMemoryLockProvider())
})

describe('runNow', () => {
  const due = new Date('2026-11-21T03:00:00Z')
  const skip = { executed: false, reason: 'already-run' }
  const send = (task: () => number | Promise<number>) => executor.wrap({ ...lock, slot: () => due }, task)

  it('runs a job whose slot was run already', async () => {
    const run = send(() => 42)
    await run()
    expect(await run()).toEqual(skip)
    const result: TaskResult<number> = await runNow(() => run())
    expect(result).toEqual({ executed: true, value: 42 })
    expect(await runNow(run)).toEqual({ executed: true, value: 42 })
  })

  it('skips the job if it is running, or throws if the job is to throw then', async () => {
    const running = promiseWithResolvers<number>()
    const run = send(() => running.promise)()
    const task = jest.fn(() => 1)
    expect(await runNow(send(task))).toMatchObject({ executed: false, reason: 'held' })
    const throwing = executor.wrap({ ...lock, onSkip: 'throw' }, task)
    await expect(runNow(throwing)).rejects.toMatchObject({ code: 'SKIPPED' })
    expect(task).not.toHaveBeenCalled()
    running.resolve(1)
    await run
  })

  it('returns the value of a job with onError, and throws its error', async () => {
    const onError = jest.fn()
    const task = jest.fn(() => 1)
    const run = executor.wrap({ ...lock, slot: () => due, untilSucceeded: true, onError }, task)
    await run()
    expect(await runNow(run)).toEqual({ executed: true, value: 1 })
    task.mockImplementation(() => {
      throw new Error('boom')
    })
    await expect(runNow(run)).rejects.toThrow('boom')
    expect(onError).toHaveBeenCalledTimes(1)
  })

  it('does not ask for the slot of a job, because there is no due time', async () => {
    const slot = (fire: { due: Date }): Date => fire.due
    const run = executor.wrap({ ...lock, slot }, () => 42)
    expect(await runNow(() => run(undefined as never))).toEqual({ executed: true, value: 42 })
  })

  it.each([
    ['finds a job', () => send(() => 1)(), { executed: true, value: 1 }],
    ['throws', () => Promise.reject(new Error('boom')), new Error('boom')],
  ])('is over when its call is over, also for a timer of a call that %s', async (_, call, outcome) => {
    const go = promiseWithResolvers()
    const inner = executor.wrap({ ...lock, name: 'inner', slot: () => due }, () => 1)
    await inner()
    let later: Promise<TaskResult<number>> | undefined
    const now = runNow<unknown>(() => {
      later = go.promise.then(() => inner())
      return call()
    })
    expect(await now.catch((error: unknown) => error)).toEqual(outcome)
    go.resolve()
    expect(await later).toEqual(skip)
  })

  it.each<[string, (call: () => Promise<unknown>) => Promise<unknown>]>([
    ['executeWithLock', (call) => executor.executeWithLock({ ...lock, name: 'around' }, call)],
    [
      'executeOnce',
      (call) => executeOnce(new InMemoryLockProvider(), { name: 'migration', slot: due }, call),
    ],
    [
      'an election',
      (call) =>
        new Promise((resolve) => {
          const onElected = () => void call().then(resolve)
          const configuration = { name: 'leader', lockAtMostFor: '1m' }
          const election = leaderElection(new InMemoryLockProvider(), configuration, { onElected })
          afterTest(() => election.shutdown())
        }),
    ],
  ])('leaves the slot of a job inside of %s, which is not the job that it looks for', async (_, inside) => {
    const job = send(() => 1)
    await job()
    const results: unknown[] = []
    const around = () => inside(async () => results.push(await job()))
    await expect(runNow(around)).rejects.toThrow('found no job')
    const result = await runNow(async () => {
      await around()
      return job()
    })
    expect(result).toEqual({ executed: true, value: 1 })
    expect(results).toEqual([skip, skip])
  })

  it('applies to one job: another job that its call runs afterwards keeps its slot', async () => {
    const job = send(() => 1)
    const other = executor.wrap({ ...lock, name: 'other', slot: () => due }, () => 2)
    await Promise.all([job(), other()])
    const afterwards: unknown[] = []
    const result = await runNow(async () => {
      await job()
      afterwards.push(await other())
    })
    expect(result).toEqual({ executed: true, value: 1 })
    expect(afterwards).toEqual([skip])
  })

  it('inside of its own lock runs the job at once', async () => {
    const job = executor.wrap(lock, () => 1)
    const around = await executor.executeWithLock(lock, () => runNow(job))
    expect(around).toEqual({ executed: true, value: { executed: true, value: 1 } })
  })
})
