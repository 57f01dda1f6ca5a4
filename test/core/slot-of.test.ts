import { CronJob, CronTime } from 'cron'
import { Cron } from 'croner'
import { describe, expect, it } from '@jest/globals'
import { slotOf } from '../../src/core/internal'

const BERLIN = { timezone: 'Europe/Berlin', paused: true }

describe('the slot of a cron expression', () => {
  it.each([
    ['*/15 * * * *', '2026-11-21T12:00:00.000Z', '2026-11-21T12:00:00.000Z'],
    ['*/15 * * * *', '2026-11-21T12:14:59.900Z', '2026-11-21T12:00:00.000Z'],
    ['*/15 * * * *', '2026-11-21T12:14:59.990Z', '2026-11-21T12:15:00.000Z'],
    ['* * * * * *', '2026-11-21T12:14:59.900Z', '2026-11-21T12:14:59.000Z'],
    ['5,35 * * * * *', '2026-11-21T12:14:40.000Z', '2026-11-21T12:14:35.000Z'],
    ['0 9 * * 1-5', '2026-11-22T12:00:00.000Z', '2026-11-20T08:00:00.000Z'],
  ])('%s at %s is %s', (expression, now, slot) => {
    expect(slotOf(new Cron(expression, BERLIN), new Date(now)).toISOString()).toBe(slot)
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

  it.each(['*/15 * * * *', '5,35 * * * * *', '0 9 * * 1-5', '0 0 1 2 *'])(
    'of cron is that of croner: %s',
    (expression) => {
      const cronTime = new CronTime(expression, 'Europe/Berlin')
      for (const now of ['2026-11-21T12:14:59.900Z', '2026-11-22T12:00:00.000Z', '2026-11-20T07:59:59.990Z'])
        expect(slotOf(cronTime, new Date(now))).toEqual(slotOf(new Cron(expression, BERLIN), new Date(now)))
    },
  )

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
    expect(() => slotOf(timeOf(due))).toThrow(expect.objectContaining({ code: 'INVALID_CONFIGURATION' }))
  })

  it('of croner with an interval is refused, because each instance counts from its own last run', () => {
    const cron = new Cron('* * * * * *', { ...BERLIN, interval: 4 })
    expect(() => slotOf(cron)).toThrow(expect.objectContaining({ code: 'INVALID_CONFIGURATION' }))
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

  it('is never in the future, and in the hour that occurs twice it is in the first one, as for croner', () => {
    const cron = new Cron('*/10 * * * * *', BERLIN)
    const first = Date.UTC(2026, 9, 25, 0, 30, 7)
    expect(Number(slotOf(cron, first))).toBe(first - 7_000)
    expect(Number(slotOf(cron, first + 3_600_000))).toBe(first - 7_000)
    expect(Number(slotOf(cron, first + 2 * 3_600_000))).toBe(first + 2 * 3_600_000 - 7_000)
  })

  it('is an error for an expression that was never due', () => {
    const never = { previousRuns: () => [] }
    expect(() => slotOf(never)).toThrow(expect.objectContaining({ code: 'INVALID_CONFIGURATION' }))
  })

  it.each(['*/5 * * * *', undefined, null, {}, 5])('refuses what is not a cron object: %p', (cron) => {
    expect(() => slotOf(cron as never)).toThrow(expect.objectContaining({ code: 'INVALID_CONFIGURATION' }))
  })
})
