import { Cron } from '@nestjs/schedule'
import { afterEach, describe, expect, test } from '@jest/globals'
import { activeLock, assertLocked, makeAllAssertsPass } from '../../src/core/scope'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { assumeLocked } from '../../src/testing/unit-test-support'
import { lockError } from '../lock-error'

class Reports {
  @Cron('0 3 * * *')
  @SchedulerLock({ name: 'report', untilSucceeded: true, keepAlive: true, provider: 'audit' })
  async send(): Promise<string | undefined> {
    assertLocked('report')
    return Promise.resolve(activeLock()?.name)
  }

  @SchedulerLock({ name: 'all', slot: () => new Date(2026, 0, 1) })
  async sendAll(): Promise<(string | undefined)[]> {
    return Promise.all([this.send(), this.send()])
  }
}

describe('A method of an object that a unit test creates with new', () => {
  afterEach(() => makeAllAssertsPass(false))

  test('runs under a lock of its own name inside of assumeLocked, however often it is called', async () => {
    const reports = new Reports()
    expect(await assumeLocked(() => reports.send())).toBe('report')
    expect(await assumeLocked(() => reports.sendAll())).toEqual(['report', 'report'])
    expect(await assumeLocked(() => reports.sendAll())).toEqual(['report', 'report'])
  })

  test('does so after makeAllAssertsPass(true)', async () => {
    makeAllAssertsPass(true)
    expect(await new Reports().sendAll()).toEqual(['report', 'report'])
  })

  test('is refused otherwise, and after assumeLocked has ended', async () => {
    const reports = new Reports()
    const refused = lockError('INVALID_CONFIGURATION', 'assumeLocked')
    await expect(reports.send()).rejects.toEqual(refused)
    let later: Promise<unknown> | undefined
    let end = (): void => undefined
    await assumeLocked(() => {
      later = new Promise<void>((resolve) => (end = resolve)).then(() => reports.send())
    })
    end()
    await expect(later).rejects.toEqual(refused)
  })
})
