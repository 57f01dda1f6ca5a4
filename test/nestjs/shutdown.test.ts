import { expect, jest, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import type { LockProvider } from '../../src/core/lock-provider'
import { activeLock } from '../../src/core/scope'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { loggedLines, startWith } from './application'

class Jobs {
  readonly started = promiseWithResolvers<AbortSignal | undefined>()
  readonly end = promiseWithResolvers<undefined>()

  @SchedulerLock({ name: 'stubborn', lockAtMostFor: '1m' })
  async run(): Promise<void> {
    this.started.resolve(activeLock()?.signal)
    await this.end.promise
  }
}

// client-end.test.ts covers runs that stop: their signals abort, and their locks are released before the client ends.
test('at shutdown a run that does not stop is waited for only so long, and named', async () => {
  const logged = loggedLines()
  const drain = jest.fn<NonNullable<LockProvider['drain']>>().mockResolvedValue()
  const lockProvider = Object.assign(new InMemoryLockProvider(), { drain })
  const options = { lockProvider, shutdown: { timeout: 20 } }
  const application = await startWith(options, Jobs)
  const jobs = application.get(Jobs)
  const run = jobs.run()
  const signal = await jobs.started.promise
  await application.close()
  expect(signal?.reason).toMatchObject({ code: 'SHUTDOWN' })
  expect(logged.at(-1)).toMatch(/^warn .*stubborn/)
  // Of the executor, and of the provider: the run has used up their time.
  const timeouts = drain.mock.calls.map(([timeout]) => Number(timeout))
  expect(timeouts).toHaveLength(2)
  expect(Math.max(...timeouts)).toBeLessThan(20)
  jobs.end.resolve(undefined)
  await run
})

test('at shutdown the releases in the background of each provider are waited for', async () => {
  const drained: string[] = []
  const provider = (name: string) => {
    const drain = () => new Promise<void>(setImmediate).then(() => void drained.push(name))
    return Object.assign(new InMemoryLockProvider(), { drain })
  }
  const options = { lockProvider: provider('one'), lockProviders: { two: provider('two') } }
  await (await startWith(options)).close()
  expect(drained).toEqual(['one', 'two'])
})
