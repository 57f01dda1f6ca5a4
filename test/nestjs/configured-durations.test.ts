import { Inject, Injectable } from '@nestjs/common'
import { describe, expect, test } from '@jest/globals'
import { activeLock, InMemoryLockProvider } from '../../src/core/internal'
import { SchedulerLock, SchedulerLockDefaults } from '../../src/nestjs'
import { startWith } from './application'

const CONFIG = Symbol('config')

@Injectable()
@SchedulerLockDefaults({ lockAtLeastFor: () => 0 })
class Reports {
  @Inject(CONFIG)
  readonly config!: Readonly<Record<string, string>>

  @SchedulerLock({
    name: 'report',
    lockAtMostFor(this: Reports) {
      return this.config['REPORT_LOCK'] ?? ''
    },
  })
  send(): Promise<number> {
    return Promise.resolve(activeLock()?.remaining() ?? 0)
  }
}

const start = (config: object) =>
  startWith({ lockProvider: new InMemoryLockProvider() }, Reports, { provide: CONFIG, useValue: config })

describe('A duration of @SchedulerLock that is a function', () => {
  test('is taken from what the application injected, for each run', async () => {
    const config = { REPORT_LOCK: '1h' }
    const reports = (await start(config)).get(Reports)
    const first = await reports.send()
    expect(first).toBeGreaterThan(3_500_000)
    expect(first).toBeLessThanOrEqual(3_600_000)
    config.REPORT_LOCK = '2h'
    expect(await reports.send()).toBeGreaterThan(7_000_000)
  })

  test('is refused when the application starts, if it gives no duration', async () => {
    await expect(start({ REPORT_LOCK: 'soon' })).rejects.toMatchObject({
      code: 'INVALID_CONFIGURATION',
      message: expect.stringMatching(/lockAtMostFor of lock 'report' is 'soon'/),
    })
  })
})
