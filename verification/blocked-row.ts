import { setTimeout as sleep } from 'node:timers/promises'
import { LockError } from '../src/core/errors'
import { idsOf, SESSIONS } from '../test/backends/server-sessions'
import { parse, number, runHarness } from './options'
import {
  createDatabase,
  openApp,
  ORMS,
  quantile,
  wantedServers,
  type Orm,
  type ServerName,
} from './own-database'

// An app that goes on trying to acquire one lock, whose row first is held as usual, and then kept locked by somebody: how long the app's
// own queries take on the same pool, how many sessions were ended, and how many wait on the server.

const USAGE = `npm run blocked-row -- [--seconds 60] [--pool 10] [--calls 50] [--json]

BACKENDS names the servers, such as BACKENDS=postgres; POSTGRES_URL, MARIADB_URL and MYSQL_URL say where they are.`

const ROWS = ['held', 'locked'] as const
type Row = (typeof ROWS)[number]

interface Load {
  readonly seconds: number
  readonly pool: number
  readonly calls: number
}

async function measure(orm: Orm, server: ServerName, row: Row, { seconds, pool, calls }: Load) {
  const database = await createDatabase(server)
  const { url, observer } = database
  // Otherwise pg's pool ends sessions itself.
  const keepsIdle = server === 'postgres' ? { idleTimeoutMillis: 0 } : {}
  const app = await openApp(orm, server, url, pool, {}, keepsIdle)
  const job = { name: 'job', lockAtMostFor: '5m' }
  const held = await app.provider.lock(job)
  if (row === 'locked') await held?.unlock()
  await Promise.all(Array.from({ length: pool }, () => app.query('select 1')))

  const blocker = observer.createQueryRunner()
  await blocker.startTransaction()
  if (row === 'locked') await blocker.query(`select * from shedlock where name = 'job' for update`)

  const seen = new Set<string>()
  const alive = new Set<string>()
  let waiting = 0
  let unanswered = 0
  const times: number[] = []
  const outcomes = new Map<string, number>()
  const count = (outcome: string): void => {
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  const until = performance.now() + seconds * 1_000
  const locking = async (): Promise<void> => {
    for (let due = performance.now(); due < until; due += 1_000 / calls) {
      await sleep(Math.max(0, due - performance.now()))
      app.provider.lock(job).then(
        (lock) => {
          count(lock ? 'acquired' : 'held')
        },
        (error: unknown) => {
          count(error instanceof LockError ? error.code : String(error))
        },
      )
    }
  }
  const asking = async (): Promise<void> => {
    for (let due = performance.now(); due < until; due += 50) {
      await sleep(Math.max(0, due - performance.now()))
      const began = performance.now()
      unanswered++
      app.query('select 1').then(
        () => {
          unanswered--
          times.push(performance.now() - began)
        },
        () => {
          count('select 1 failed')
        },
      )
    }
  }
  const watching = async (): Promise<void> => {
    while (performance.now() < until) {
      await sleep(250)
      alive.clear()
      for (const id of await idsOf(observer, SESSIONS[server].all)) {
        seen.add(id)
        alive.add(id)
      }
      waiting = Math.max(waiting, (await idsOf(observer, SESSIONS[server].waiting)).length)
    }
  }
  await Promise.all([locking(), asking(), watching()])
  const unansweredAtTheEnd = unanswered
  if (row === 'locked') await sleep(6_000)
  const left = (await idsOf(observer, SESSIONS[server].waiting)).length
  await blocker.rollbackTransaction()
  await blocker.release()
  await Promise.race([app.provider.drain('5s'), sleep(10_000)])
  await Promise.race([app.close(), sleep(5_000)])
  await database.drop()
  return {
    server,
    orm,
    row,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    answered: times.length,
    unanswered: unansweredAtTheEnd,
    ended: seen.size - alive.size,
    waiting,
    waitingLater: left,
    outcomes: Object.fromEntries(outcomes),
  }
}

async function main(args: readonly string[]): Promise<void> {
  const { values } = parse(args, {
    seconds: { type: 'string', default: '60' },
    pool: { type: 'string', default: '10' },
    calls: { type: 'string', default: '50' },
    json: { type: 'boolean', default: false },
  })
  const load = { seconds: number(values.seconds), pool: number(values.pool), calls: number(values.calls) }
  for (const server of wantedServers())
    for (const orm of ORMS)
      for (const row of ROWS) {
        const seconds = row === 'held' ? load.seconds / 4 : load.seconds
        const measured = await measure(orm, server, row, { ...load, seconds })
        console.log(values.json ? JSON.stringify(measured) : sentence(measured))
      }
  process.exit()
}

function sentence(measured: Awaited<ReturnType<typeof measure>>): string {
  const { server, orm, row, p50, p99, answered, unanswered, ended, waiting, waitingLater, outcomes } =
    measured
  return `${server}, ${orm}, ${row}: select 1 p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms, ${answered} answered, ${unanswered} not; sessions ended ${ended}; waiting at most ${waiting}, 6 s later ${waitingLater}; calls ${JSON.stringify(outcomes)}`
}

void runHarness(USAGE, main)
