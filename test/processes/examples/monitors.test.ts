import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DataSource } from 'typeorm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { TestDatabase } from '../../backends'
import { eventually } from '../../eventually'
import { startApp, type Instance } from './instance'
import { migratedDatabase } from './migrated-database'
import { MONITORS } from './programs'

const LONG = { timeout: 90_000 }

let database: TestDatabase
let observer: DataSource
let instances: Instance[] = []
/** The statuses that the monitor received, in order. */
let statuses: string[] = []
let monitor: Server

beforeAll(async () => {
  database = await migratedDatabase()
  observer = await new DataSource(database.typeOrm).initialize()
  monitor = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      const ping = /^\/ping(.*)/.exec(request.url ?? '')
      if (ping) statuses.push({ '/start': 'in_progress', '/fail': 'error' }[ping[1] ?? ''] ?? 'ok')
      // An envelope of Sentry is lines of JSON.
      for (const [, status = ''] of body.matchAll(/^\{.*"monitor_slug":"report","status":"(\w+)"/gm))
        statuses.push(status)
      response.end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(monitor, 'listening')
})

afterEach(async () => {
  await Promise.all(instances.map((instance) => instance.stop()))
  instances = []
  statuses = []
  // One of them may have been killed while it held the lock.
  await observer.query('delete from shedlock')
})

afterAll(async () => {
  monitor.close()
  monitor.closeAllConnections()
  await observer.destroy()
  await database.drop()
})

function start(file: string, environment: NodeJS.ProcessEnv = {}): void {
  const { port } = monitor.address() as AddressInfo
  const all = {
    ...{ SENTRY_DSN: `http://key@127.0.0.1:${port}/1`, PING_URL: `http://127.0.0.1:${port}/ping` },
    ...{ ...environment, DATABASE_URL: database.url },
  }
  instances = [startApp('monitors', [file], all), startApp('monitors', [file], all)]
}

const count = (status: string): number => statuses.filter((each) => each === status).length
const fires = (said: 'ran' | 'skipped'): number =>
  instances.reduce((sum, instance) => sum + instance.said(`${said} report`).length, 0)

describe.each(MONITORS)('%s', (file) => {
  test.each([
    ['of a job that succeeds', 'ok', {}],
    ['of a job that fails', 'error', { JOB_FAILS: 'yes' }],
  ])('each run %s is reported as %s, and no skip', async (_, status, environment) => {
    start(file, environment)
    await eventually(() => {
      expect(Math.min(fires('ran'), fires('skipped'))).toBeGreaterThanOrEqual(3)
      // Between two fires.
      expect(count('in_progress')).toBe(fires('ran'))
      expect(count(status)).toBe(fires('ran'))
    }, LONG)
    expect([...new Set(statuses)].sort()).toEqual([status, 'in_progress'].sort())
  })
})

test('around the lock, skips and failed runs are reported as ok', async () => {
  start('around', { JOB_FAILS: 'yes' })
  await eventually(() => {
    expect(Math.min(fires('ran'), fires('skipped'))).toBeGreaterThanOrEqual(3)
    expect(count('ok')).toBe(fires('ran') + fires('skipped'))
  }, LONG)
  expect(count('error')).toBe(0)
})
