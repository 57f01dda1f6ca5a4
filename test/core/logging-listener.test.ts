import { Logger } from '@nestjs/common'
import { expect, it } from '@jest/globals'
import {
  InMemoryLockProvider,
  Lease,
  LockError,
  LockingTaskExecutor,
  loggingListener,
} from '../../src/core/internal'
import { providerOf } from './provider-of'

const job = { name: 'job', lockAtMostFor: '1m' }

/** Notes each line under its level. */
function recorder() {
  const lines: string[] = []
  const at = (level: string) => (message: string) => lines.push(`${level} ${message}`)
  return { lines, logger: { debug: at('debug'), warn: at('warn'), error: at('error') } }
}

it('logs a run and a skip at debug', async () => {
  const { lines, logger } = recorder()
  const executor = new LockingTaskExecutor(new InMemoryLockProvider(), {
    listeners: [loggingListener(logger)],
  })
  await executor.executeWithLock(job, () => executor.executeWithLock({ ...job, name: 'other' }, () => 1))
  await Promise.all([
    executor.executeWithLock(job, () => undefined),
    executor.executeWithLock(job, () => undefined),
  ])
  expect(lines.every((line) => line.startsWith("debug Lock '"))).toBe(true)
  expect(lines).toContain("debug Lock 'job' was acquired")
  expect(lines).toContain("debug Lock 'job' is already held – the task was skipped")
  expect(lines).toContainEqual(
    expect.stringMatching(/^debug Lock 'other' ran its task, which succeeded after \d+ ms$/),
  )
})

it('logs a run without skips if those methods are left out', async () => {
  const { lines, logger } = recorder()
  const { onLockAttempt, onLockNotAcquired, ...listener } = loggingListener(logger)
  expect([onLockAttempt, onLockNotAcquired]).toEqual([expect.any(Function), expect.any(Function)])
  const executor = new LockingTaskExecutor(new InMemoryLockProvider(), { listeners: [listener] })
  await Promise.all([
    executor.executeWithLock(job, () => undefined),
    executor.executeWithLock(job, () => undefined),
  ])
  expect(lines).toEqual([
    "debug Lock 'job' was acquired",
    "debug Lock 'job' starts its task",
    expect.stringMatching(/^debug Lock 'job' ran its task/),
  ])
})

it('logs at error that the database did not answer, with the code', async () => {
  const { lines, logger } = recorder()
  const away = providerOf(() => Promise.reject(new LockError('TIMEOUT', 'No answer.')))
  const executor = new LockingTaskExecutor(away, { listeners: [loggingListener(logger)] })
  await expect(executor.executeWithLock(job, () => 1)).rejects.toMatchObject({ code: 'TIMEOUT' })
  expect(lines.at(-1)).toBe(
    "error Lock 'job' could not be acquired, so the task did not run: TIMEOUT: No answer.",
  )
})

it('logs at warn that an unlock failed, and at debug what the task threw', async () => {
  const { lines, logger } = recorder()
  const provider = providerOf(() =>
    Promise.resolve({
      lease: new Lease(60_000),
      extend: () => Promise.resolve(undefined),
      unlock: () => Promise.reject(new Error('gone')),
    }),
  )
  const executor = new LockingTaskExecutor(provider, { listeners: [loggingListener(logger)] })
  const failing = executor.executeWithLock(job, () => Promise.reject(new RangeError('my own')))
  await expect(failing).rejects.toThrow('my own')
  expect(lines).toContainEqual(
    expect.stringMatching(/^debug Lock 'job' ran its task, which failed after \d+ ms: my own$/),
  )
  expect(lines.at(-1)).toMatch(
    /^warn Lock 'job' could not be released; it expires at the end of its lease: gone$/,
  )
})

it("accepts console and Nest's Logger, and refuses what is not a logger", () => {
  expect(loggingListener(console)).toBeDefined()
  expect(loggingListener(new Logger('ShedLock'))).toBeDefined()
  expect(() => loggingListener({} as never)).toThrow(/without debug\(\)/)
  expect(() => loggingListener(undefined as never)).toThrow(LockError)
})
