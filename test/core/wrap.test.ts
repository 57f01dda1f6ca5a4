import { describe, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import type { Refusal, TaskResult } from '../../src/core/lock'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { useFaultyExecutor } from './faulty-executor'
import { providerOf } from './provider-of'

/** For the compiler: whether two types are one. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- compared as a whole, so `any` is not all
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

const job = { name: 'job', lockAtMostFor: '10m' }
const invalid = expect.objectContaining({ code: 'INVALID_CONFIGURATION' })

const world = useFaultyExecutor()

describe('wrap', () => {
  it('passes this and arguments to the name, the slot and the task, takes their types from the task, and gives the value', async () => {
    const counter = {
      count: 1,
      add: world.executor.wrap(
        {
          ...job,
          name(by) {
            return `${this.count}+${by.toFixed()}`
          },
          slot() {
            return this.count
          },
        },
        function (this: { count: number }, by: number, times: number) {
          expect(world.storage.isLocked('1+2')).toBe(true)
          return (this.count += by * times)
        },
      ),
    }
    expect(await counter.add(2, 3)).toEqual({ executed: true, value: 7 })
    true satisfies Same<Awaited<ReturnType<typeof counter.add>>, TaskResult<number>>
  })

  it.each<[what: string, configuration: object, task: unknown]>([
    [
      'a wrong lockAtMostFor, even if the name is a function',
      { ...job, name: () => 'job', lockAtMostFor: 'soon' },
      () => undefined,
    ],
    ['no lockAtMostFor', { name: 'job' }, () => undefined],
    ['a promise for a task', job, Promise.resolve()],
    ['untilSucceeded without slots', { ...job, untilSucceeded: true }, () => undefined],
    [
      'untilSucceeded and undefined slots',
      { ...job, untilSucceeded: true, slot: undefined },
      () => undefined,
    ],
  ])('refuses %s at once', (_, configuration, task) => {
    expect(() => world.executor.wrap(configuration as typeof job, task as () => void)).toThrow(invalid)
  })

  it('rejects instead of throwing, and does not ask for the lock, if the name is wrong or cannot be made', async () => {
    const wrapped = world.executor.wrap(
      { ...job, name: (text: string) => text.toLowerCase() },
      (text: string) => text,
    )
    await expect(wrapped('x'.repeat(65))).rejects.toEqual(invalid)
    await expect(wrapped(undefined as never)).rejects.toBeInstanceOf(TypeError)
    expect(world.provider.calls).toEqual([])
  })

  it('refuses a call whose slot function returns nothing, because the task would run without its slot', async () => {
    const slot = (due?: number) => due as never
    const run = world.executor.wrap({ ...job, untilSucceeded: true, slot }, (due?: number) => due)
    await expect(run()).rejects.toEqual(invalid)
    // Such as the date that is made of the word 'manual', which node-cron 3 passes.
    for (const due of [undefined, null, NaN, new Date(NaN)])
      await expect(run(due as never)).rejects.toThrow(/'job' was called without a due time.*runNow/)
    expect(await run(1_000)).toEqual({ executed: true, value: 1_000 })
    expect(await run(1_000)).toEqual({ executed: false, reason: 'already-run' })
  })
})

describe('onError', () => {
  it('takes the errors of the name, of the database and of the task, and the promise resolves', async () => {
    const onError = jest.fn()
    const business = new Error('business')
    const gone = new LockError('DATABASE_ERROR', 'gone')
    const name = (text: string) => text.trim()
    const wrapped = world.executor.wrap({ ...job, onError, name }, (text: string) => {
      if (text === 'job') throw business
    })
    await expect(wrapped(1 as never)).resolves.toBeUndefined()
    await expect(wrapped('job')).resolves.toBeUndefined()
    expect(world.storage.isLocked('job')).toBe(false)
    world.provider.faults.lock = gone
    await expect(wrapped('job')).resolves.toBeUndefined()
    expect(onError.mock.calls).toEqual([[expect.any(TypeError)], [business], [gone]])
    true satisfies Same<ReturnType<typeof wrapped>, Promise<void>>
  })

  it('is not called for a value or a skip, and the promise resolves to neither', async () => {
    const onError = jest.fn()
    const task = jest.fn(() => 'done')
    const wrapped = world.executor.wrap({ ...job, onError }, task)
    await expect(wrapped()).resolves.toBeUndefined()
    await world.storage.lock(job)
    await expect(wrapped()).resolves.toBeUndefined()
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
    const wrapped = world.executor.wrap({ ...job, onError }, () => Promise.reject(new Error('business')))
    await expect(wrapped()).resolves.toBeUndefined()
    expect(warning.mock.calls).toEqual([[expect.objectContaining({ message: 'handler' })]])
  })
})

describe('the executor', () => {
  it('passes on what an onSkip rejects with', async () => {
    await world.storage.lock(job)
    const onSkip = () => Promise.reject(new Error('handler'))
    await expect(world.executor.executeWithLock({ ...job, onSkip }, () => 'skipped')).rejects.toThrow(
      'handler',
    )
  })

  const holder = { lockedBy: 'host/7', lockUntil: new Date('2026-11-21T03:00:00Z') }
  it.each<[string, Refusal]>([
    ['is already held', { reason: 'held' }],
    ['is held until 2026-11-21T03:00:00.000Z (host/7)', { reason: 'held', holder }],
    ['was already acquired for this slot or a later one', { reason: 'already-run', holder }],
  ])("with onSkip: 'throw' says that the lock %s", async (why, refusal) => {
    const refusing = new LockingTaskExecutor(providerOf(() => Promise.resolve(refusal)))
    await expect(refusing.executeWithLock({ ...job, onSkip: 'throw' }, () => 'skipped')).rejects.toThrow(
      `Lock 'job' ${why} – the task was skipped.`,
    )
  })

  it('refuses an object that is not a provider', () => {
    const words = 'The first argument is not a lock provider – pass typeOrmLockProvider(dataSource) or'
    expect(() => new LockingTaskExecutor({} as never)).toThrow(words)
    expect(() => new LockingTaskExecutor(undefined as never)).toThrow(invalid)
  })

  it('fills in its defaults, which it may inherit', async () => {
    const defaults = Object.create({ defaultLockAtMostFor: '3m', defaultLockAtLeastFor: '2m' }) as object
    await new LockingTaskExecutor(world.storage, defaults).executeWithLock(
      { name: 'job', lockAtMostFor: undefined },
      ({ lock }) => expect(lock.remaining()).toBeGreaterThan(170_000),
    )
    expect(world.storage.isLocked('job')).toBe(true)
  })
})
