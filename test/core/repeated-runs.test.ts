import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutor, type LockingTaskExecutorOptions } from '../../src/core/locking-task-executor'

let warning: jest.SpiedFunction<typeof process.emitWarning>
let count = 0
/** A name that was not warned of yet: this happens once in a process. */
let name: string

beforeEach(() => {
  name = `job-${count++}`
  warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
})

const executorWith = (options?: LockingTaskExecutorOptions): LockingTaskExecutor =>
  new LockingTaskExecutor(new InMemoryLockProvider(), options)
const task = (): string => 'done'

describe('a job with neither slot nor lockAtLeastFor', () => {
  it('is warned of by name, before it runs, with what to set', () => {
    executorWith().wrap({ name, lockAtMostFor: '1m' }, task)
    expect(warning.mock.calls).toEqual([
      [
        expect.stringMatching(new RegExp(`'${name}'.*set slot.*lockAtLeastFor`)),
        { code: 'SHEDLOCK_NO_SLOT' },
      ],
    ])
  })

  it('is warned of once for each name', () => {
    for (const executor of [executorWith(), executorWith()])
      for (const each of [name, `${name}-2`]) executor.wrap({ name: each, lockAtMostFor: '1m' }, task)
    expect(warning).toHaveBeenCalledTimes(2)
  })

  it('is warned of with the function that makes its name', () => {
    const names = [(tenant: string) => `bill-${tenant}-${name}`, (tenant: string) => `mail-${tenant}-${name}`]
    for (const each of names) executorWith().wrap({ name: each, lockAtMostFor: '1m' }, () => 'done')
    const said = warning.mock.calls.map(([message]) => String(message))
    expect(said).toEqual([expect.stringContaining('bill-'), expect.stringContaining('mail-')])
  })

  it.each<[string, object, LockingTaskExecutorOptions]>([
    ['a slot', { slot: () => 1 }, {}],
    ['lockAtLeastFor', { lockAtLeastFor: '1s' }, {}],
    ['lockAtLeastFor: 0', { lockAtLeastFor: 0 }, {}],
    ['an executor with lockAtLeastFor', {}, { defaultLockAtLeastFor: '1s' }],
    ['an executor with lockAtLeastFor: 0', {}, { defaultLockAtLeastFor: 0 }],
  ])('is not warned of if it has %s', (_, own, defaults) => {
    executorWith(defaults).wrap({ name, lockAtMostFor: '1m', ...own }, task)
    expect(warning).not.toHaveBeenCalled()
  })

  it('is not warned of if it is refused, or if a caller uses executeWithLock', async () => {
    expect(() => executorWith().wrap({ name, lockAtMostFor: '0s' }, task)).toThrow('lockAtMostFor')
    await executorWith().executeWithLock({ name, lockAtMostFor: '1m' }, task)
    expect(warning).not.toHaveBeenCalled()
  })
})
