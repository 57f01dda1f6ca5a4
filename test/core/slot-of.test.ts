import { CronJob, CronTime } from 'cron'
import { Cron } from 'croner'
import { describe, expect, it, jest } from '@jest/globals'
import { slotOf, type CronLike } from '../../src/core/cron'
import { afterTest } from '../after-test'
import { lockError } from '../lock-error'

const refused = (words: string | RegExp) => lockError('INVALID_CONFIGURATION', words)
const BERLIN = { timezone: 'Europe/Berlin', paused: true }

const SCHEDULERS = {
  croner: (expression: string) => new Cron(expression, BERLIN),
  'croner before 10': (expression: string): CronLike => {
    const cron = new Cron(expression, BERLIN)
    return { options: cron.options, nextRun: (after) => cron.nextRun(after) }
  },
  cron: (expression: string) => new CronTime(expression, 'Europe/Berlin'),
}
const every = Object.values(SCHEDULERS)
const { croner, cron } = SCHEDULERS

describe('the slot of a cron expression', () => {
  it.each([
    ['*/15 * * * *', '2026-11-21T12:14:59.900Z', '2026-11-21T12:00:00.000Z', every],
    // A timer may fire a moment too early.
    ['*/15 * * * *', '2026-11-21T12:14:59.990Z', '2026-11-21T12:15:00.000Z', every],
    ['0 9 * * 1-5', '2026-11-22T12:00:00.000Z', '2026-11-20T08:00:00.000Z', every],
    ['0 0 29 2 *', '2026-11-22T12:00:00.000Z', '2024-02-28T23:00:00.000Z', every],
    ['* * * * * *', '2026-11-21T12:14:59.700Z', '2026-11-21T12:14:59.000Z', every],
    ['5,35 * * * * *', '2026-11-22T12:00:00.000Z', '2026-11-22T11:59:35.000Z', every],
    // The day without this time, the day with two of it, and the hour that comes twice.
    ['30 2 * * *', '2026-03-29T12:00:00.000Z', '2026-03-29T01:00:00.000Z', [cron]],
    ['30 2 * * *', '2026-10-25T12:00:00.000Z', '2026-10-25T00:30:00.000Z', every],
    ['*/10 * * * * *', '2026-10-25T00:30:07.000Z', '2026-10-25T00:30:00.000Z', every],
    ['*/10 * * * * *', '2026-10-25T01:30:07.000Z', '2026-10-25T01:30:00.000Z', [cron]],
    // For croner, that hour is the first one.
    ['*/10 * * * * *', '2026-10-25T01:30:07.000Z', '2026-10-25T00:30:00.000Z', [croner]],
    ['*/10 * * * * *', '2026-10-25T02:30:07.000Z', '2026-10-25T02:30:00.000Z', every],
  ])('%s at %s is %s', (expression, now, slot, schedulers) => {
    for (const of of schedulers)
      expect([of.name, slotOf(of(expression), new Date(now)).toISOString()]).toEqual([of.name, slot])
  })

  it.each([
    // At half past two there is no such time on this day, and on the other one it comes twice.
    ['in spring', '2026-03-28T12:00:00Z'],
    ['in autumn', '2026-10-24T12:00:00Z'],
  ])('is the time at which croner is due on the day when clocks change %s', (_, before) => {
    const cron = new Cron('30 2 * * *', BERLIN)
    const [due, next] = cron.nextRuns(2, new Date(before))
    expect(slotOf(cron, due)).toEqual(due)
    expect(slotOf(cron, Number(due) + 60_000)).toEqual(due)
    expect(slotOf(cron, Number(next) - 60_000)).toEqual(due)
  })

  it.each([
    ['*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z'],
    ['*/30 * * * *', 'Australia/Lord_Howe', '2026-10-03T14:30:00Z'],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z'],
  ])('of cron, %s in %s, is what cron fires when clocks change after %s', (expression, zone, from) => {
    const scheduler = new CronTime(expression, zone)
    afterTest(() => jest.useRealTimers())
    for (let fire = Date.parse(from), fires = 0; fires < 4; fires++) {
      // Between two equal local times the library chooses by the season in which it is asked.
      jest.useFakeTimers({ now: fire })
      fire = scheduler.sendAt().toMillis()
      for (const now of [fire - 40, fire + 3, fire + 1_500, fire + 600_000]) {
        jest.setSystemTime(now)
        expect(Number(slotOf(new CronTime(expression, zone)))).toBe(fire)
      }
    }
  })

  it('of cron is found although the library goes back in the hour that occurs twice', () => {
    const due = Date.parse('2026-04-04T15:00:00Z')
    const again = { toMillis: () => due, zoneName: null }
    // So many answers, because a search that goes on for ever would end no test.
    const answers = Array.from({ length: 20 }, () => again)
    const getNextDateFrom = () => answers.pop() ?? { toMillis: () => NaN }
    const stuck = { source: '*/15 * * * *', sendAt: () => again, getNextDateFrom }
    expect(Number(slotOf(stuck, due + 600_000))).toBe(due)
  })

  it('of cron is that of the job, with an offset and after a change of its time', () => {
    const now = new Date('2026-11-22T12:00:00.000Z')
    const job = CronJob.from({ cronTime: '0 9 * * *', utcOffset: 330, onTick: () => undefined })
    expect(slotOf(job.cronTime, now).toISOString()).toBe('2026-11-22T03:30:00.000Z')
    job.setTime(new CronTime('0 10 * * *', 'UTC'))
    expect(slotOf(job.cronTime, now).toISOString()).toBe('2026-11-22T10:00:00.000Z')
  })

  it.each([
    ['croner', (due: Date) => new Cron(due, { paused: true })],
    ['cron', (due: Date) => new CronTime(due)],
  ])('of a single time of %s is that time, once it has come', (_, timeOf) => {
    const due = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 60_000)
    expect(slotOf(timeOf(due), Number(due) + 100_000)).toEqual(due)
    expect(() => slotOf(timeOf(due))).toThrow(refused('was never due'))
  })

  it('of cron is there when a job runs at its start', () => {
    const slots: Date[] = []
    CronJob.from({
      ...{ cronTime: '0 0 1 1 *', timeZone: 'UTC', runOnInit: true },
      onTick() {
        slots.push(slotOf(this.cronTime))
      },
    })
    expect(slots.map((slot) => slot.toISOString().slice(5))).toEqual(['01-01T00:00:00.000Z'])
  })

  it('is given for a time of Temporal', () => {
    const now = { epochMilliseconds: Date.UTC(2026, 10, 21, 12, 1), valueOf: () => NaN }
    expect(slotOf(new Cron('*/15 * * * *', BERLIN), now)).toEqual(new Date('2026-11-21T12:00:00Z'))
  })

  it('of node-cron is the date of a scheduled or missed fire', () => {
    const date = new Date('2026-11-21T12:00:00Z')
    expect(slotOf({ date, execution: { reason: 'scheduled' } })).toBe(date)
    // A listener to execution:missed gets a context without an execution.
    expect(slotOf({ date })).toBe(date)
  })

  it('of node-cron 3 and node-schedule is the second of the date that they pass', () => {
    const now = new Date('2026-11-21T12:00:05Z')
    const due = new Date('2026-11-21T12:00:00Z')
    for (const date of [due, new Date('2026-11-21T12:00:00.999Z')]) expect(slotOf(date, now)).toEqual(due)
    const apart = /option timezone of node-cron 3.*croner's Cron/
    // With a time zone, node-cron 3 passes the clocks of that zone; none is nearer than a quarter of an hour.
    for (const minutes of [-15, 15, 60]) {
      const shifted = new Date(due.getTime() + minutes * 60_000)
      expect(() => slotOf(shifted, now)).toThrow(refused(apart))
    }
    expect(() => slotOf(new Date(NaN), now)).toThrow(refused(apart))
    for (const byHand of ['manual', 'init'] as const)
      expect(() => slotOf(byHand)).toThrow(refused(/no due time.*runNow/))
  })

  it.each<[string, object, RegExp]>([
    [
      'of croner with an interval, because each instance counts from its own last run',
      new Cron('* * * * * *', { ...BERLIN, interval: 4 }),
      /interval/,
    ],
    ['of a stopped job of croner before 10', { nextRun: () => null }, /croner before 10.*stopped/],
    ['of what was never due', { previousRuns: () => [], nextRun: () => null }, /was never due/],
    [
      'of a run that node-cron invoked',
      { date: new Date(), execution: { reason: 'invoked' } },
      /execute\(\).*no due time.*runNow/,
    ],
  ])('%s is refused', (_, given, message) => {
    expect(() => slotOf(given as CronLike)).toThrow(refused(message))
  })

  it.each([
    ...['*/5 * * * *', undefined, null, {}, 5],
    // croner 5, cron 1.
    { next: () => null, previous: () => null },
    { source: '* * * * *', sendAt: () => null, _getNextDateFrom: () => null },
  ])('refuses what is not a cron object: %s', (cron) => {
    const words = /croner \(6 or later\).*cron \(2\.3 or later\).*node-cron \(3 or later\)/
    expect(() => slotOf(cron as never)).toThrow(refused(words))
  })
})
