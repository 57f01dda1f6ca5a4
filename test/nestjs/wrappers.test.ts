import { Cron } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { expect, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import type { SchedulerLockOptions } from '../../src/nestjs/scheduler-lock-options'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { eventually } from '../eventually'
import { loggedLines, startScheduler } from './application'
import { jobClass, type JobClass } from './job-class'

type Method = (this: unknown, ...args: unknown[]) => unknown

/** How decorators and agents of others replace a method. */
const WRAPPERS: Readonly<Record<string, (method: Method) => Method>> = {
  'a function with copied metadata': (method) => withMetadata(method, calling(method)),
  'a function that inherits from the method': (method) =>
    Object.setPrototypeOf(calling(method), method) as Method,
  'a function with another this': (method) =>
    withMetadata(method, function (...args) {
      return method.apply(Object.create(this as object), args)
    }),
  // What has no metadata works only below @Cron, because @nestjs/schedule finds no @Cron otherwise.
  'a function without metadata': calling,
  'a proxy without metadata': (method) => new Proxy(method, {}),
}

function calling(method: Method): Method {
  return function (...args) {
    return method.apply(this, args)
  }
}

function withMetadata(from: object, to: Method): Method {
  for (const key of Reflect.getMetadataKeys(from))
    Reflect.defineMetadata(key, Reflect.getMetadata(key, from), to)
  return to
}

function decoratorOf(wrap: (method: Method) => Method): MethodDecorator {
  return (_: object, __: unknown, descriptor: PropertyDescriptor) => {
    descriptor.value = wrap(descriptor.value as Method)
  }
}

const ORDERS = [
  ['@Cron', 'wrapper', '@SchedulerLock'],
  ['@Cron', '@SchedulerLock', 'wrapper'],
  ['@SchedulerLock', '@Cron', 'wrapper'],
  ['@SchedulerLock', 'wrapper', '@Cron'],
  ['wrapper', '@Cron', '@SchedulerLock'],
  ['wrapper', '@SchedulerLock', '@Cron'],
] as const

/** One wrapper in every order, and the others where each kind of decorator has them right below itself. */
const CASES = Object.entries(WRAPPERS).flatMap(([wrapper, wrap], index) =>
  (index === 0 ? ORDERS : ORDERS.slice(0, 2)).map((parts) => ({
    ...{ wrapper, order: parts.join(' '), parts },
    decorator: decoratorOf(wrap),
  })),
)

const start = (job: JobClass, lockProvider = new InMemoryLockProvider()) =>
  startScheduler({ lockProvider, cronTime: CronTime, warnOfUnlockedCrons: true }, job)

test.each(CASES)('$order with $wrapper runs once for each due time', async ({ parts, decorator }) => {
  const jobOf = (options: Partial<SchedulerLockOptions>, task: () => unknown): JobClass => {
    const locked = SchedulerLock({ name: 'job', lockAtMostFor: '1m', ...options })
    const decorators = {
      '@Cron': Cron('0 3 * * *', { timeZone: 'Europe/Berlin' }),
      '@SchedulerLock': locked,
      wrapper: decorator,
    }
    return jobClass(
      parts.map((part) => decorators[part]),
      task,
    )
  }
  const logged = loggedLines()
  let runs = 0
  const job = jobOf({ untilSucceeded: true, catchUp: '366d' }, () => {
    if (++runs === 1) throw new Error('boom')
    return 'ran'
  })
  const lockProvider = new InMemoryLockProvider()
  const one = await start(job, lockProvider)
  await eventually(() => expect(runs).toBe(1))
  expect([await one.get(job).run(), await one.get(job).run()]).toEqual(['ran', undefined])
  const two = await start(job, lockProvider)
  expect(await two.get(job).run()).toBeUndefined()
  await two.close()
  expect(runs).toBe(2)
  // It does not count as unlocked.
  expect(logged.filter((line) => line.startsWith('warn'))).toEqual([])
  const withoutSlots = start(jobOf({ slot: false, untilSucceeded: true }, () => 'ran'))
  await expect(withoutSlots).rejects.toThrow('untilSucceeded of Job.run needs slots')
})
