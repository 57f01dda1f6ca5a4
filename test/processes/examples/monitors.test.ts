import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test } from '@jest/globals'
import { afterTest } from '../../after-test'
import { eventually } from '../../eventually'
import { listening } from '../../listening'
import { startApp } from './instance'
import { migratedDatabase } from './migrated-database'
import { MONITORS } from './programs'

const PINGS: Readonly<Record<string, string>> = { '/start': 'in_progress', '/fail': 'error', '': 'ok' }

/** A monitor, and the statuses that it received, in order. */
async function startMonitor(): Promise<{ url: string; statuses: string[] }> {
  const statuses: string[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const [, ping] = /^\/ping(.*)/.exec(request.url ?? '') ?? []
      if (ping !== undefined) statuses.push(PINGS[ping] ?? ping)
      // An envelope of Sentry is lines of JSON.
      for (const [, status = ''] of body.matchAll(/^\{.*"monitor_slug":"report","status":"(\w+)"/gm))
        statuses.push(status)
      response.end('{}')
    })
  })
  return { url: `127.0.0.1:${await listening(server)}`, statuses }
}

const ROWS: readonly { file: string; job: string; ran: string[]; skipped: string[] }[] = [
  ...MONITORS.map((file) => ({ file, job: 'succeeds', ran: ['in_progress', 'ok'], skipped: [] })),
  ...MONITORS.map((file) => ({ file, job: 'fails', ran: ['in_progress', 'error'], skipped: [] })),
  // What the guide warns of: failed runs count as successes, and so do skips.
  { file: 'around', job: 'fails', ran: ['in_progress', 'ok'], skipped: ['in_progress', 'ok'] },
]

test.each(ROWS)('$file, of a job that $job: a run is reported as $ran, a skip as $skipped', async (row) => {
  const { url, statuses } = await startMonitor()
  const environment = {
    ...(await migratedDatabase(afterTest)).environment,
    ...{ SENTRY_DSN: `http://key@${url}/1`, PING_URL: `http://${url}/ping` },
    ...(row.job === 'fails' && { JOB_FAILS: 'yes' }),
  }
  const instances = [1, 2].map(() => startApp('monitors', [row.file], environment, afterTest))
  const fires = (said: 'ran' | 'skipped') => instances.flatMap((each) => each.said(`${said} report`))
  await eventually(
    () => {
      const [ran, skipped] = [fires('ran'), fires('skipped')]
      expect(Math.min(ran.length, skipped.length)).toBeGreaterThanOrEqual(3)
      // Between two fires.
      const reported = [...ran.flatMap(() => row.ran), ...skipped.flatMap(() => row.skipped)]
      expect([...statuses].sort()).toEqual(reported.sort())
    },
    { timeout: 90_000 },
  )
})
