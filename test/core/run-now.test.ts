import { Cron } from 'croner'
import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import {
  InMemoryLockProvider,
  leaderElection,
  LockingTaskExecutor,
  runNow,
  slotOf,
  type TaskResult,
} from '../../src/core/internal'
import { shedLockCoordinator } from '../../src/node-cron'
import { executeOnce } from '../../src/core/internal'
import { afterTest } from '../after-test'
import { promiseWithResolvers } from '../promise-with-resolvers'

const lock = { name: 'report', lockAtMostFor: '10m' }
let executor: LockingTaskExecutor

beforeEach(() => {
  executor = new LockingTaskExecutor(new InMemoryLockProvider())
})

describe('runNow', () => {
  const due = new Date('2026-11-21T03:00:00Z')
  const send = (task: () => number | Promise<number>) => executor.wrap({ ...lock, slot: () => due }, task)

  it('runs a job whose slot was run already', async () => {
    const run = send(() => 42)
    await run()
    expect(await run()).toEqual({ executed: false, reason: 'already-run' })
    const result: TaskResult<number> = await runNow(() => run())
    expect(result).toEqual({ executed: true, value: 42 })
    expect(await runNow(run)).toEqual({ executed: true, value: 42 })
  })

  it('returns held if the job is running, and does not run it', async () => {
    const running = promiseWithResolvers<number>()
    const run = send(() => running.promise)()
    const task = jest.fn(() => 1)
    expect(await runNow(send(task))).toMatchObject({ executed: false, reason: 'held' })
    expect(task).not.toHaveBeenCalled()
    running.resolve(1)
    await run
  })

  it('leaves later slots to the scheduler', async () => {
    await runNow(send(() => 1))
    const run = executor.wrap({ ...lock, slot: () => Date.now() + 1_000 }, () => 2)
    expect(await run()).toEqual({ executed: true, value: 2 })
  })

  it('returns the value of a job with onError, and throws its error', async () => {
    const onError = jest.fn()
    const task = jest.fn(() => 1)
    const run = executor.wrap({ ...lock, slot: () => due, onError }, task)
    await run()
    expect(await runNow(run)).toEqual({ executed: true, value: 1 })
    task.mockImplementation(() => {
      throw new Error('boom')
    })
    await expect(runNow(run)).rejects.toThrow('boom')
    expect(onError).toHaveBeenCalledTimes(1)
  })

  it('throws when the job is to throw if it is skipped', async () => {
    const run = executor.wrap({ ...lock, onSkip: 'throw' }, () => 1)
    const running = promiseWithResolvers()
    const other = executor.executeWithLock(lock, () => running.promise)
    await expect(runNow(run)).rejects.toMatchObject({ code: 'SKIPPED' })
    running.resolve()
    await other
  })

  it('runs a job through the scheduler that has it', async () => {
    const task = jest.fn(() => undefined)
    const onError = (error: unknown): never => {
      throw error
    }
    const nightly = executor.wrap({ ...lock, slot: (job: Cron) => slotOf(job), onError }, task)
    const job = new Cron('0 3 * * *', { paused: true }, nightly)
    afterTest(() => job.stop())
    await job.trigger()
    await job.trigger()
    expect(task).toHaveBeenCalledTimes(1)
    expect(await runNow(() => job.trigger())).toEqual({ executed: true, value: undefined })
    expect(task).toHaveBeenCalledTimes(2)
  })

  it('leaves the slots of what the job itself runs, and of what is called after it', async () => {
    const inner = executor.wrap({ ...lock, name: 'inner', slot: () => due }, () => 1)
    await inner()
    const skip = { executed: false, reason: 'already-run' }
    const outer = executor.wrap(lock, () => inner())
    const result = await runNow(async () => {
      const first = await outer()
      expect(await inner()).toEqual(skip)
      return first
    })
    expect(result).toEqual({ executed: true, value: skip })
  })

  describe('is over when its call is over', () => {
    const skip = { executed: false, reason: 'already-run' }

    /** Calls the job later, from where `runNow` was called. */
    const calledLater = () => {
      const go = promiseWithResolvers()
      const inner = executor.wrap({ ...lock, name: 'inner', slot: () => due }, () => 1)
      let later: Promise<TaskResult<number>> | undefined
      const call = (): void => void (later = go.promise.then(() => inner()))
      const result = (): Promise<TaskResult<number>> | undefined => {
        go.resolve()
        return later
      }
      return { inner, call, result }
    }

    it('for a timer of a call that found a job', async () => {
      const { inner, call, result } = calledLater()
      await inner()
      await runNow(() => {
        call()
        return send(() => 1)()
      })
      expect(await result()).toEqual(skip)
    })

    it('for a timer of a call that throws', async () => {
      const { inner, call, result } = calledLater()
      await inner()
      const throwing = (): never => {
        call()
        throw new Error('boom')
      }
      await expect(runNow(throwing)).rejects.toThrow('boom')
      expect(await result()).toEqual(skip)
    })

    it('for a job of croner that the call starts', async () => {
      const nightly = send(() => 1)
      await nightly()
      const fired = promiseWithResolvers<TaskResult<number>>()
      const start = (): void => {
        const job = new Cron('* * * * * *', { maxRuns: 1 }, async () => {
          fired.resolve(await nightly())
        })
        afterTest(() => job.stop())
      }
      await expect(runNow(start)).rejects.toThrow('found no job')
      expect(await fired.promise).toEqual(skip)
    })
  })

  it('leaves what executeOnce has done as it is, and the slots of what it runs', async () => {
    const provider = new InMemoryLockProvider()
    const once = { name: 'migration', slot: due }
    const migrate = jest.fn(() => send(() => 1)())
    await executeOnce(provider, once, migrate)
    await expect(runNow(() => executeOnce(provider, once, migrate))).rejects.toThrow('found no job')
    expect(migrate).toHaveBeenCalledTimes(1)
    const result = await runNow(async () => {
      expect(await executeOnce(provider, once, migrate)).toMatchObject({ reason: 'already-run' })
      const other = await executeOnce(provider, { ...once, name: 'other' }, migrate)
      expect(other).toMatchObject({ value: { executed: false, reason: 'already-run' } })
      return send(() => 2)()
    })
    expect(result).toEqual({ executed: true, value: 2 })
  })

  it('leaves an election that the call starts alone', async () => {
    const elected = promiseWithResolvers<TaskResult<number>>()
    const job = send(() => 1)
    await job()
    const join = (): void => {
      const election = leaderElection(
        new InMemoryLockProvider(),
        { name: 'leader', lockAtMostFor: '1m' },
        {
          onElected: () => {
            void job().then((result) => {
              elected.resolve(result)
            })
          },
        },
      )
      afterTest(() => election.shutdown())
    }
    await expect(runNow(join)).rejects.toThrow('found no job')
    expect(await elected.promise).toMatchObject({ reason: 'already-run' })
    const result = await runNow(async () => {
      join()
      await elected.promise
      return job()
    })
    expect(result).toEqual({ executed: true, value: 1 })
  })

  it('leaves the slot of a fire that node-cron coordinates', async () => {
    const coordinator = shedLockCoordinator(new InMemoryLockProvider())
    const fire = 'report:2026-11-20T03:00:00.000Z'
    expect(await coordinator.shouldRun(fire, 60_000)).toBe(true)
    await coordinator.onComplete(fire)
    let runs: boolean | undefined
    const fires = async () => {
      runs = await coordinator.shouldRun(fire, 60_000)
    }
    await expect(runNow(fires)).rejects.toThrow('found no job')
    expect(runs).toBe(false)
  })

  it('inside of its own lock runs the job at once', async () => {
    const job = executor.wrap(lock, () => 1)
    const around = await executor.executeWithLock(lock, () => runNow(job))
    expect(around).toEqual({ executed: true, value: { executed: true, value: 1 } })
  })

  it('does not count executeWithLock as a job', async () => {
    const job = send(() => 1)
    await job()
    const call = () => executor.executeWithLock({ ...lock, name: 'around' }, () => job())
    await expect(runNow(call)).rejects.toThrow('found no job')
    const result = await runNow(async () => {
      expect(await call()).toMatchObject({ value: { reason: 'already-run' } })
      return job()
    })
    expect(result).toEqual({ executed: true, value: 1 })
  })

  it('is an error where nothing has a lock', async () => {
    await expect(runNow(() => 42)).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
  })
})
