import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { LockError, LockingTaskExecutor, type TaskResult } from '../../src/core/internal'
import { faultyExecutor } from './faulty-executor'

/** For the compiler: whether two types are one. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- compared as a whole, so `any` is not all
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

const job = { name: 'job', lockAtMostFor: '10m' }
const invalid = expect.objectContaining({ code: 'INVALID_CONFIGURATION' })
let { storage, provider, executor } = faultyExecutor()

beforeEach(() => {
  ;({ storage, provider, executor } = faultyExecutor())
})

describe('wrap', () => {
  it('passes this and arguments through, and gives the value', async () => {
    const counter = {
      count: 1,
      add: executor.wrap(job, function (this: { count: number }, by: number) {
        return (this.count += by)
      }),
    }
    expect(await counter.add(2)).toEqual({ executed: true, value: 3 })
    true satisfies Same<Awaited<ReturnType<typeof counter.add>>, TaskResult<number>>
  })

  it('refuses at once to have no lockAtMostFor or no task', () => {
    expect(() => executor.wrap({ name: 'job' }, () => undefined)).toThrow(invalid)
    expect(() => executor.wrap(job, Promise.resolve() as never)).toThrow(invalid)
  })

  it('rejects instead of throwing, whatever goes wrong', async () => {
    const wrapped = executor.wrap(job, () => {
      throw new Error('synchronous')
    })
    await expect(wrapped()).rejects.toThrow('synchronous')
  })
})

describe('a name made from arguments', () => {
  it('is a lock for each argument', async () => {
    const bill = executor.wrap(
      { ...job, name: (customer: string) => `bill ${customer}` },
      (customer: string) => storage.isLocked(`bill ${customer}`),
    )
    await storage.lock({ name: 'bill b', lockAtMostFor: '10m' })
    expect(await bill('a')).toEqual({ executed: true, value: true })
    expect(await bill('b')).toEqual({ executed: false, reason: 'held' })
  })

  it('sees this, and takes the types of its arguments from the task', async () => {
    const tenant = {
      id: 't1',
      run: executor.wrap(
        {
          ...job,
          name(id) {
            return `${this.id}-${id.toFixed()}`
          },
        },
        function (this: { id: string }, id: number) {
          return storage.isLocked(`${this.id}-${id}`)
        },
      ),
    }
    expect(await tenant.run(1)).toEqual({ executed: true, value: true })
  })

  it('rejects when it is not a name, or cannot be made', async () => {
    const wrapped = executor.wrap(
      { ...job, name: (text: string) => text.toLowerCase() },
      (text: string) => text,
    )
    await expect(wrapped('x'.repeat(65))).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
    await expect(wrapped(undefined as never)).rejects.toBeInstanceOf(TypeError)
    expect(provider.calls).toEqual([])
  })

  it('lets the rest of the configuration be refused at once', () => {
    expect(() => executor.wrap({ name: () => 'job', lockAtMostFor: 'soon' }, () => undefined)).toThrow(
      invalid,
    )
  })
})

describe('onError', () => {
  it('takes the error of the task, and the promise resolves', async () => {
    const onError = jest.fn()
    const wrapped = executor.wrap({ ...job, onError }, () => Promise.reject(new Error('business')))
    await expect(wrapped()).resolves.toBeUndefined()
    expect(onError).toHaveBeenCalledTimes(1)
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ message: 'business' }))
    expect(storage.isLocked('job')).toBe(false)
    true satisfies Same<ReturnType<typeof wrapped>, Promise<void>>
  })

  it('takes the error of the database', async () => {
    const onError = jest.fn()
    provider.faults.lock = new LockError('DATABASE_ERROR', 'gone')
    await executor.wrap({ ...job, onError }, () => 'not run')()
    expect(onError).toHaveBeenCalledTimes(1)
  })

  it('takes the error of a name that cannot be made', async () => {
    const onError = jest.fn()
    await executor.wrap(
      { ...job, onError, name: (text: string) => text.trim() },
      (text: string) => text,
    )(1 as never)
    expect(onError).toHaveBeenCalledTimes(1)
    expect(onError).toHaveBeenCalledWith(expect.any(TypeError))
  })

  it('is not called for a value or a skip', async () => {
    const onError = jest.fn()
    const task = jest.fn(() => 'done')
    const wrapped = executor.wrap({ ...job, onError }, task)
    await wrapped()
    await storage.lock(job)
    await wrapped()
    expect(task).toHaveBeenCalledTimes(1)
    expect(onError).not.toHaveBeenCalled()
  })

  it.each([
    () => {
      throw new Error('handler')
    },
    () => Promise.reject(new Error('handler')),
  ])('may fail itself, and that becomes a warning', async (onError) => {
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
    const wrapped = executor.wrap({ ...job, onError }, () => Promise.reject(new Error('business')))
    await expect(wrapped()).resolves.toBeUndefined()
    expect(warning).toHaveBeenCalledTimes(1)
    expect(warning).toHaveBeenCalledWith(expect.objectContaining({ message: 'handler' }))
    warning.mockRestore()
  })
})

describe('onSkip', () => {
  it('is called for a skip, but not for a run', async () => {
    const onSkip = jest.fn()
    const wrapped = executor.wrap({ ...job, onSkip }, () => 'done')
    await wrapped()
    expect(onSkip).not.toHaveBeenCalled()
    await storage.lock(job)
    expect(await wrapped()).toEqual({ executed: false, reason: 'held' })
    expect(onSkip).toHaveBeenCalledTimes(1)
    expect(onSkip).toHaveBeenCalledWith(expect.objectContaining({ name: 'job' }))
  })

  it('that throws or rejects makes the call reject', async () => {
    await storage.lock(job)
    const onSkip = () => Promise.reject(new Error('handler'))
    await expect(executor.executeWithLock({ ...job, onSkip }, () => 'skipped')).rejects.toThrow('handler')
  })
})

describe('a slot function', () => {
  it('that returns nothing makes the call reject, because the task would run without its slot', async () => {
    const onError = jest.fn()
    const slot = (due?: Date): Date => due ?? (undefined as never)
    const run = executor.wrap({ ...job, slot }, (due?: Date) => due)
    await expect(run()).rejects.toEqual(invalid)
    await executor.wrap({ ...job, slot, onError }, () => 'ran')()
    expect(onError).toHaveBeenCalledWith(invalid)
    const due = new Date(1)
    expect(await run(due)).toEqual({ executed: true, value: due })
  })
})

describe('the executor', () => {
  it('refuses an object that is not a provider', () => {
    expect(() => new LockingTaskExecutor({} as never)).toThrow(invalid)
    expect(() => new LockingTaskExecutor(undefined as never)).toThrow(invalid)
  })

  it('fills in its defaults', async () => {
    const defaults = new LockingTaskExecutor(storage, {
      defaultLockAtMostFor: '3m',
      defaultLockAtLeastFor: '2m',
    })
    await defaults.executeWithLock({ name: 'job', lockAtMostFor: undefined }, ({ lock }) =>
      expect(lock.remaining()).toBeGreaterThan(170_000),
    )
    expect(storage.isLocked('job')).toBe(true)
  })
})
