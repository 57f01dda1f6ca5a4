import type { Job } from '../../../src/core/internal'
import type { PageServer } from './page-server'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const OVERDUE_AFTER = { 'nightly-backup': '25h' }

/** What the app knows of some of them. One is missed. */
export function knownJobs(): Readonly<Record<string, Job>> {
  const start = Date.now()
  const every = (minutes: number, minutesAgo: number): Job => ({
    run: () => undefined,
    due: (after) => {
      const [interval, first] = [minutes * 60_000, start - minutesAgo * 60_000]
      return new Date(first + (Math.floor((after.getTime() - first) / interval) + 1) * interval)
    },
  })
  return {
    ...{ 'import-orders': every(60, 4), 'clean-up-sessions': every(15, 11), 'currency-rates': every(15, 22) },
    ...{ 'rebuild-search-index': every(60, 44), 'report:weekly': every(7 * 24 * 60, 66) },
  }
}

/** A dozen locks as an app has them. */
export async function insertTwelve({ insert, provider }: PageServer): Promise<void> {
  const [api, worker] = ['api-7f9c4d/1', 'worker-58b6f/17']
  await insert('nightly-backup', {
    owner: `${worker}/412000 succeeded`,
    at: -29 * HOUR,
    until: -29 * HOUR + 412,
  })
  await insert('import-orders', {
    owner: `${worker}/0b5f3c1e-58a7-8b1e-9d6d-3a2f0c9b7e11`,
    at: -4 * MINUTE,
    until: 6 * MINUTE,
  })
  await insert('send-newsletter', {
    owner: `${api}/c0a8012e-1f4b-8c5d-8e7f-90ab12cd34ef`,
    at: -25,
    until: 95,
  })
  await provider.table.pause('sync-warehouse', {
    duration: '8h',
    reason: 'the warehouse moves to its new database',
    pausedBy: 'ann@example.com',
  })
  const free = [
    'clean-up-sessions',
    'currency-rates',
    'invoice-reminders',
    'rebuild-search-index',
    'report:daily',
    'report:weekly',
    'thumbnails',
    'usage-metrics',
  ]
  for (const [index, name] of free.entries()) {
    const at = -(index + 1) * (index > 5 ? DAY : 11 * MINUTE)
    const ending = index === 2 ? `${20_000 + index} failed` : `${2_000 + 1_700 * index} succeeded`
    const died = '6f1d2c3b-7a8e-8d4f-a1b2-c3d4e5f60718'
    const who = `${index % 2 ? api : worker}${index === 2 ? ' threw ECONNREFUSED' : ''}`
    const owner = `${who}/${index === 4 ? died : ending}`
    await insert(name, { owner, at, until: at + 20 + index })
  }
}
