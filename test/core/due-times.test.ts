import { CronJob, CronTime } from 'cron'
import { Cron } from 'croner'
import { createTask } from 'node-cron'
import { describe, expect, it, jest } from '@jest/globals'
import type { NodeCronContextLike, slotOf } from '../../src/core/cron'
import { hasMissed, isInTheWay, missedAt, parseJob, type Due, type Job } from '../../src/core/jobs'
import { afterTest } from '../after-test'
import { startVirtualTime } from './virtual-time'

const at = (text: string): Date => new Date(`2026-11-27T${text}Z`)
const ms = (text: string): number => at(text).getTime()

const hourly = (after: Date): Date => new Date((Math.floor(after.getTime() / 3_600_000) + 1) * 3_600_000)

/** If slotOf understands an object of a scheduler, other than the context of a fire, that `due` does not, this does not compile. */
const asDue = (cron: Exclude<Parameters<typeof slotOf>[0], NodeCronContextLike | Date | string>): Due => cron

describe('due of a job', () => {
  it.each<[string, () => Due]>([
    ["croner's Cron", () => asDue(new Cron('0 * * * *', { paused: true, timezone: 'UTC' }))],
    ['a CronTime', () => new CronTime('0 * * * *', 'UTC')],
    ['a CronJob', () => new CronJob('0 * * * *', () => undefined, null, false, 'UTC')],
    ['a function', () => hourly],
  ])('is read from %s', (_, due) => {
    const { due: times } = parseJob({ due: due() }, 'job')
    expect(times?.next(ms('10:20:00'))).toBe(ms('11:00:00'))
    expect(times?.last(ms('10:20:00'))).toBe(ms('10:00:00'))
  })

  it('is read from the task of node-cron and the Job of node-schedule, which know the next time only', () => {
    const task = createTask('0 0 1 1 *', () => undefined)
    afterTest(() => task.destroy())
    void task.start()
    expect(new Date(parseJob({ due: task }, 'job').due?.next(0) ?? NaN).getMonth()).toBe(0)
    const [first, second] = [Date.now() - 5_000, Date.now() + 60_000]
    let next = first
    const { due } = parseJob({ due: { nextInvocation: () => ({ getTime: () => next }) } }, 'job')
    expect(due?.next(0)).toBe(first)
    next = second
    expect(due?.next(0)).toBe(second)
    expect(due?.last(first)).toBe(first)
    // What it was moved from before that time is no due time.
    next = second + 60_000
    expect([due?.next(0), due?.last(second)]).toEqual([next, first])
  })

  it('is remembered, so that a job of node-schedule that is due each minute is found to be missed and to hang', () => {
    const now = Date.now()
    const minutes = [-210, -150, -90, -30, 30].map((seconds) => now + seconds * 1_000)
    let next = minutes[0] ?? NaN
    const due = { nextInvocation: () => ({ getTime: () => next }) }
    for (next of minutes) parseJob({ due }, 'job').due?.next(now)
    const job = parseJob({ due }, 'job')
    const lock = { lockedAt: new Date(now - 600_000), lockUntil: new Date(now - 599_000), now: new Date(now) }
    expect(missedAt(job, lock)).toBe(minutes[2])
    const held = { ...lock, lockUntil: new Date(now + 600_000) }
    expect(isInTheWay(job, held)).toBe(true)
    expect(isInTheWay(job, { ...held, lockedAt: new Date(now - 210_000) })).toBe(false)
    // A scheduler that is stuck goes on naming it as the next one.
    next = now - 70_000
    expect(missedAt(job, lock)).toBe(next)
  })

  it('of a CronJob that runs once is over after that, also if it ran each hour before', () => {
    const job = new CronJob('0 * * * *', () => undefined)
    const { due } = parseJob({ due: job }, 'job')
    job.setTime(new CronTime(at('10:00:00')))
    expect([due?.next(ms('09:59:59')), due?.last(ms('09:59:59'))]).toEqual([ms('10:00:00'), undefined])
    expect([due?.next(ms('10:00:00')), due?.last(ms('10:00:00'))]).toEqual([undefined, ms('10:00:00')])
  })

  it('is refused unless it can tell a time', () => {
    for (const due of ['0 * * * *', {}, 5])
      expect(() => parseJob({ due } as unknown as Job, 'job')).toThrow("due of job 'job' is not known")
    expect(() => parseJob({ dew: hourly } as Job, 'job')).toThrow("Unknown option 'dew'")
  })
})

it('the last due time is missed if a run without a slot came before it, but not if the job was moved since', () => {
  const { due } = parseJob({ due: hourly }, 'job')
  const missed = (lockedAt: string) => hasMissed(ms('10:00:00'), due, { lockedAt: at(lockedAt) })
  expect([missed('09:20:00.001'), missed('09:20:00')]).toEqual([true, false])
})

describe('a due time is missed', () => {
  const lock = (lockedAt: string, lockUntil: string, now: string) => ({
    ...{ lockedAt: at(lockedAt), lockUntil: at(lockUntil), now: at(now) },
  })

  it.each([
    ['when nobody acquired the lock', lock('09:00:00', '09:05:00', '10:02:00'), '10:00:00'],
    ['not during the first minute after it', lock('09:00:00', '09:05:00', '10:00:59'), undefined],
    ['not while it is held', lock('09:00:00', '10:30:00', '10:02:00'), undefined],
    ['not if it was acquired for it', lock('10:00:00', '10:00:01', '10:59:00'), undefined],
    ['not if it was held then, by a run or a pause', lock('08:00:00', '10:01:00', '10:30:00'), undefined],
    ['to the second if the lock has slots', lock('09:00:00', '09:59:58', '10:02:00'), '10:00:00'],
    ['not if a clock that is ahead acquired it', lock('09:59:58.300', '09:59:58.400', '10:02:00'), undefined],
  ])('%s', (_, lock, missed) => {
    expect(missedAt(parseJob({ due: hourly }, 'job'), lock)).toBe(missed && ms(missed))
  })

  it('of a lock that was never acquired only if this process saw it', () => {
    startVirtualTime({ now: at('10:30:00') })
    const job = parseJob({ due: (after) => hourly(after) }, 'job')
    expect(missedAt(job, undefined)).toBeUndefined()
    jest.advanceTimersByTime(32 * 60_000)
    expect(missedAt(job, undefined)).toBe(ms('11:00:00'))
  })
})
