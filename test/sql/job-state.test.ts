import { spawnSync } from 'node:child_process'
import { expect, it } from '@jest/globals'
import { parseJob } from '../../src/core/jobs'
import { defaultLockedBy, lastRunOf, newOwner } from '../../src/sql/owner'
import type { LockRecord } from '../../src/sql/records'
import { holder, JOB_STATES, jobView, summary, troubleFirst } from '../../src/sql/table/job-state'
import { read } from '../project'

const NOW = new Date('2026-11-27T10:20:00Z')
const MINUTE = 60_000

/** @param at when it was acquired, and @param until how long it is held, in minutes from now */
function row(lockedBy: string, at: number, until: number): LockRecord {
  const [lockedAt, lockUntil] = [at, until].map((minutes) => new Date(NOW.getTime() + minutes * MINUTE)) as [
    Date,
    Date,
  ]
  const held = until > 0
  const lastRun = lastRunOf(lockedBy, held, lockUntil, NOW)
  const paused = held && lockedBy.startsWith('paused by')
  return { name: 'job', held, paused, lockedBy, lockedAt, lockUntil, now: NOW, ...(lastRun && { lastRun }) }
}

const LIVE = newOwner('host/1')
const ofProcess = (pid: number) => newOwner(defaultLockedBy()).replace(`/${process.pid}/`, `/${pid}/`)
const { pid: GONE } = spawnSync('true')
const FOR_EVER = new Date(253402300799999)
const YEARS = 273.5 * 365.25 * 24 * 60

const every = (minutes: number) =>
  parseJob(
    { due: (after) => new Date((Math.floor(after.getTime() / minutes / MINUTE) + 1) * minutes * MINUTE) },
    'job',
  )

it.each([
  ['running', 'for 4m of 10m', row(LIVE, -4, 6), {}],
  ['idle', 'its lock is kept for 5m', row('host/1/1000+360000 succeeded', -4, 5), {}],
  ['idle', 'succeeded 3m ago', row('host/1/1000 succeeded', -4, -3), {}],
  ['idle', 'acquired 4m ago', row('java-host', -4, -3), {}],
  ['idle', 'never ran', undefined, {}],
  ['failed', '3m ago', row('host/1 threw ECONNREFUSED/1000 failed', -4, -3), {}],
  [
    'failed',
    'ran 12m, longer than its lease may last',
    row('host/1 threw LOCK_LOST/720000 succeeded', -15, -3),
    {},
  ],
  ['died', '3m ago', row(LIVE, -9, -3), {}],
  ['paused', '1h left', row('paused by ann: disk', -90, 60), { overdueAfter: MINUTE }],
  ['paused', 'for ever left', { ...row('paused by ann: disk', -90, 60), lockUntil: FOR_EVER }, {}],
  ['late', 'acquired 4m ago, limit 1m', row('host/1/1000 succeeded', -4, -3), { overdueAfter: MINUTE }],
  ['late', 'acquired 4m ago, limit 1m', row('host/1/1000 failed', -4, -3), { overdueAfter: MINUTE }],
  ['late', 'acquired 9m ago, limit 1m', row(LIVE, -9, -3), { overdueAfter: MINUTE }],
  ['late', 'never ran, limit 1m', undefined, { overdueAfter: MINUTE }],
  ['missed', 'due 20m ago, nobody ran it', row('host/1/1000 succeeded', -80, -79), { job: every(60) }],
  ['running', 'for 12m of 2h', row(LIVE, -12, 108), { job: every(5) }],
  ['late', 'running for 40m of 2h, several due times passed', row(LIVE, -40, 80), { job: every(10) }],
  ['late', 'running for 40m, limit 30m', row(LIVE, -40, 144_000), { overdueAfter: 30 * MINUTE }],
  ['late', 'running for 40m, limit 30m', row(LIVE, -40, 80), { runningAtMost: 30 * MINUTE }],
  [
    'late',
    'running for 40m, limit 30m',
    row(LIVE, -40, 80),
    { runningAtMost: 60 * MINUTE, overdueAfter: 30 * MINUTE },
  ],
  ['failed', 'not known to have succeeded', row('java-host', -4, -3), { mustHaveSucceeded: true }],
  ['idle', 'acquired 4m ago', row('paused by ann: disk', -4, -3), { mustHaveSucceeded: true }],
  ['stuck', 'held until 2300', row(LIVE, -4, YEARS), {}],
  ['stuck', 'held until 2028', row(LIVE, -4, 400 * 24 * 60), {}],
  ['running', 'for 0ms of 10m', row(LIVE, 1, 11), {}],
  ['stuck', 'acquired 3h ahead of the clock of the database', row('java', 180, 200), {}],
  ['stuck', 'its process is gone, 6m left', row(ofProcess(GONE), -4, 6), {}],
  ['running', 'for 4m of 10m', row(ofProcess(process.pid), -4, 6), {}],
] as const)('a job is %s: %s', (state, why, record, expected) => {
  expect(jobView('job', record, expected)).toMatchObject({ state, why })
})

it.each([
  ['a run', row(ofProcess(GONE), -4, 6), 'is gone from this host'],
  ['a run elsewhere', row(LIVE, -4, 6), 'cannot be seen from here'],
  ['lockAtLeastFor', row('host/1/1000+360000 succeeded', -4, 5), undefined],
  ['a pause', row('paused by ann: disk', -90, 60), undefined],
  ['nothing', row(LIVE, -4, -1), undefined],
] as const)('of the process that holds a lock for %s', (_, record, process) => {
  expect(holder(record)).toBe(process)
})

it('trouble comes first, the latest before what is known, then the others by state and name', () => {
  const jobs = [
    jobView('tenant-10', row('host/1/1000 succeeded', -4, -3)),
    jobView('tenant-9', row('host/1/1000 succeeded', -2, -1)),
    jobView('running', row(LIVE, -4, 6)),
    jobView('known', { ...row(LIVE, -4_000, 6), lockUntil: FOR_EVER }),
    jobView('ahead', row('java', 180, 200)),
    jobView('failed', row('host/1/1000 failed', -90, -3)),
    jobView('missed', row('host/1/1000 succeeded', -80, -79), { job: every(60) }),
    jobView('late', row('host/1/1000 succeeded', -80, -79), { overdueAfter: 30 * MINUTE }),
  ]
  expect(jobs.sort(troubleFirst).map(({ name }) => name)).toEqual(
    ['failed', 'missed', 'late', 'known', 'ahead', 'running'].concat('tenant-9', 'tenant-10'),
  )
})

it('when a job is due next is a time, never, or not known', () => {
  const at = new Date('2026-11-27T10:30:00Z')
  const dueAt = (due: () => Date | null) =>
    jobView('job', row(LIVE, -4, 6), { job: parseJob({ due }, 'job') })
  expect(dueAt(() => at).nextDue).toEqual(at)
  expect(dueAt(() => null).nextDue).toBeNull()
  expect(jobView('job', row(LIVE, -4, 6))).not.toHaveProperty('nextDue')
})

it('the runbook explains each state in the words of the code', () => {
  const [, list] = read('docs/guides/operating.md').split('\n## States\n')
  const items = Object.entries(JOB_STATES).map(
    ([state, { means, next, never }]) => `- **${state}:** ${means} **Next:** ${next} **Never:** ${never}`,
  )
  expect(list?.split('\n## ')[0]?.match(/^- .*/gm)).toEqual(items)
})

it('the first sentence counts those that need a person, and calls no job well of which nobody knows when it must run', () => {
  const limited = (state: 'idle' | 'failed') => ({ state, overdueAfter: 1 })
  const states = (...all: ('idle' | 'failed')[]) => summary(all.map(limited))
  expect(states()).toBe('There are no jobs yet')
  expect(states('idle')).toBe('The only job is well')
  expect(states('failed')).toBe('The only job needs you')
  expect(states('idle', 'idle')).toBe('All 2 jobs are well')
  expect(states('idle', 'failed')).toBe('1 of 2 jobs needs you')
  expect(states('failed', 'failed', 'idle')).toBe('2 of 3 jobs need you')
  expect(summary([{ state: 'idle' }, { state: 'idle', nextDue: null }, limited('idle')])).toBe(
    'Nothing is known to be wrong (without a limit: 1 of 3 jobs)',
  )
})
