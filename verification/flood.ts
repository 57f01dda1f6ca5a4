import { setTimeout as sleep } from 'node:timers/promises'
import { LockError } from '../src/core/errors'
import { LockingTaskExecutor } from '../src/core/locking-task-executor'
import type { Lock } from '../src/core/lock'
import type { SqlLockProviderOptions } from '../src/sql/sql-lock-provider'
import { idsOf, endOtherSessions, SESSIONS } from '../test/backends/server-sessions'
import { TcpProxy } from '../test/backends/tcp-proxy'
import { number, oneOf, parse, runHarness } from './options'
import {
  createDatabase,
  openApp,
  ORMS,
  wantedServers,
  WAYS,
  type App,
  type Orm,
  type OwnDatabase,
  type ServerName,
  type Way,
} from './own-database'

// What a lock has to wait for besides its database: the app's own queries, other locks, dead connections, and what the app left behind.

const USAGE = `npm run flood -- [SCENARIO …] [--orm TypeORM] [--way own|client|app] [--seconds 10] [--json]

Scenarios: flood, bursts, crowd, silent, turn, begin, errors, refused, limit, connections; default all of them.
--way own     connections of the lock's own (the default)
      app     the client's own pool: ownConnections: 0
      client  a client for locks alone, whose pool has two connections
BACKENDS names the servers, such as BACKENDS=postgres; POSTGRES_URL, MARIADB_URL and MYSQL_URL say where they are.`

interface Setting {
  readonly orm: Orm
  readonly server: ServerName
  readonly way: Way
  readonly database: OwnDatabase
  readonly seconds: number
  /** Opens an app whose locks go the way. */
  readonly open: (url?: URL, options?: SqlLockProviderOptions, extra?: object) => Promise<App>
}

interface Finding {
  readonly isKept: boolean
  readonly what: string
}

const QUERY = {
  postgres: 'select 1 from pg_sleep(0.05)',
  mariadb: 'select sleep(0.05)',
  mysql: 'select sleep(0.05)',
}
const times = <T>(count: number, work: (each: number) => T): T[] =>
  Array.from({ length: count }, (_, each) => work(each))
const round = (milliseconds: number): string => `${Math.round(milliseconds)} ms`

/** A job that starts thousands of queries on the app's pool keeps its lock, and other locks of its process are acquired meanwhile. */
async function flood({ open, server }: Setting): Promise<Finding> {
  const app = await open()
  const executor = new LockingTaskExecutor(app.provider)
  const began = performance.now()
  let lostAt: number | undefined
  let longest = 0
  const others = { acquired: 0, failed: 0 }
  let isOver = false
  const flooding = executor
    .executeWithLock({ name: 'heavy', lockAtMostFor: '3s', keepAlive: true }, async ({ signal }) => {
      let isAtWork = true
      signal.addEventListener('abort', () => {
        if (isAtWork) lostAt = performance.now() - began
      })
      await Promise.all(times(1_600, () => app.query(QUERY[server])))
      isAtWork = false
    })
    .then(
      () => 'released',
      (error: unknown) => (error instanceof LockError ? error.code : String(error)),
    )
    .finally(() => (isOver = true))
  for (let each = 0; !(isOver as boolean); each++) {
    await sleep(300)
    const asked = performance.now()
    try {
      const lock = await app.provider.lock({ name: `other ${each}`, lockAtMostFor: '1m' })
      await lock?.unlock()
      others.acquired++
    } catch {
      others.failed++
    }
    longest = Math.max(longest, performance.now() - asked)
  }
  const outcome = await flooding
  await app.close()
  return {
    isKept: lostAt === undefined && outcome === 'released' && others.failed === 0 && longest < 1_000,
    what: `${lostAt === undefined ? 'kept' : `lost after ${round(lostAt)}`}, ${outcome}; other locks: ${others.acquired} acquired and released, the longest in ${round(longest)}, ${others.failed} failed`,
  }
}

async function behindProxy<T>(
  { database }: Setting,
  delay: number,
  work: (url: URL, proxy: TcpProxy) => Promise<T>,
): Promise<T> {
  const proxy = await TcpProxy.listen(Number(database.url.port))
  proxy.slowDown(delay / 2)
  const url = new URL(database.url)
  url.port = String(proxy.port)
  try {
    return await work(url, proxy)
  } finally {
    await proxy.close()
  }
}

/** Bursts of locks beside one that is held, on a database 100 ms away. */
function bursts(setting: Setting): Promise<Finding> {
  return behindProxy(setting, 100, async (url) => {
    const app = await setting.open(url)
    const held = await app.provider.lock({ name: 'held', lockAtMostFor: '4s' })
    const keeper = new LockingTaskExecutor(app.provider)
    let lost: unknown
    let isAtWork = true
    await held?.unlock()
    let end!: () => void
    const ended = new Promise<void>((resolve) => (end = resolve))
    const keeping = keeper.executeWithLock(
      { name: 'held', lockAtMostFor: '4s', keepAlive: true },
      ({ signal }) => {
        signal.addEventListener('abort', () => {
          if (isAtWork) lost = signal.reason
        })
        return ended
      },
    )
    const outcomes = new Map<string, number>()
    const all: Promise<void>[] = []
    for (let burst = 0; burst < 4; burst++) {
      for (const each of times(300, (index) => index)) {
        const run = keeper.executeWithLock(
          { name: `job ${burst} ${each}`, lockAtMostFor: '1m' },
          () => undefined,
        )
        all.push(
          run
            .then(() => 'ran', codeOf)
            .then((outcome) => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)),
        )
      }
      await sleep(2_500)
    }
    await Promise.all(all)
    isAtWork = false
    end()
    const kept = await keeping.then(() => 'released', codeOf)
    await app.provider.drain('10s')
    const stillHeld = (await app.provider.table.list()).filter((row) => row.held).length
    await app.close()
    return {
      isKept: lost === undefined && kept === 'released' && stillHeld === 0,
      what: `${lost === undefined ? 'kept' : 'lost'}, ${kept}; of 1200 others ${JSON.stringify(Object.fromEntries(outcomes))}; held for nobody ${stillHeld}`,
    }
  })
}

const codeOf = (error: unknown): string => (error instanceof LockError ? error.code : String(error))

/** Two hundred locks at once, on a distant database. */
function crowd(setting: Setting): Promise<Finding> {
  const distance = setting.server === 'postgres' ? 100 : 40
  return behindProxy(setting, distance, async (url) => {
    // As with jobs that have run before.
    const near = await setting.open()
    for (const name of times(200, (each) => `job ${each}`))
      await (await near.provider.lock({ name, lockAtMostFor: '1m' }))?.unlock()
    await near.close()
    const app = await setting.open(url)
    const outcomes = new Map<string, number>()
    const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    const began = performance.now()
    let message = ''
    await Promise.all(
      times(200, async (each) => {
        try {
          const lock = await app.provider.lock({ name: `job ${each}`, lockAtMostFor: '1m' })
          count(lock ? 'acquired' : 'held')
          await lock?.unlock()
          count('released')
        } catch (error) {
          message ||= (error as Error).message
          count(codeOf(error))
        }
      }),
    )
    const took = performance.now() - began
    await app.close()
    const isKept = outcomes.get('acquired') === 200 && outcomes.get('released') === 200
    return {
      isKept,
      what: `${distance} ms away: ${JSON.stringify(Object.fromEntries(outcomes))} in ${round(took)}${message && `; ${message}`}`,
    }
  })
}

/** The first five locks of a process, whose connection has fallen silent. */
function silent(setting: Setting): Promise<Finding> {
  return behindProxy(setting, 0, async (url, proxy) => {
    const app = await setting.open(url)
    await app.query('select 1')
    proxy.silence()
    const began = performance.now()
    const locks = await Promise.allSettled(
      times(5, (each) => app.provider.lock({ name: `job ${each}`, lockAtMostFor: '1m' })),
    )
    const took = performance.now() - began
    const acquired = locks.filter(({ status }) => status === 'fulfilled').length
    await Promise.race([app.close().catch(() => undefined), sleep(2_000)])
    return {
      isKept: acquired >= (setting.server === 'postgres' ? 4 : 5),
      what: `${acquired} of 5 acquired in ${round(took)}`,
    }
  })
}

/** A lock in the same turn as synchronous work, during which the server has ended its idle connections. */
async function turn(setting: Setting): Promise<Finding> {
  const outcomes = new Map<string, number>()
  const app = await setting.open()
  for (let time = 0; time < 20; time++) {
    const warm = await app.provider.lock({ name: `warm ${time}`, lockAtMostFor: '1m' })
    await warm?.unlock()
    await app.query('select 1')
    const outcome = await new Promise<string>((resolve) => {
      // From a callback of the network, as a request's handler has it.
      void app.query('select 1').then(() => {
        endOtherSessions(setting.database.url.href)
        const until = performance.now() + 150
        while (performance.now() < until);
        app.provider.lock({ name: `job ${time}`, lockAtMostFor: '1m' }).then(
          () => resolve('acquired'),
          (error: unknown) => resolve(codeOf(error)),
        )
      })
    })
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    await app.query('select 1').catch(() => undefined)
  }
  await app.close().catch(() => undefined)
  return { isKept: outcomes.get('acquired') === 20, what: JSON.stringify(Object.fromEntries(outcomes)) }
}

/** A transaction that the app leaves open in its only connection just before a lock, and rolls back just after it. */
async function begin({ open, orm }: Setting): Promise<Finding> {
  const outcomes = new Map<string, number>()
  const one = orm === 'Prisma' ? { connectionLimit: 1, adapter: { useTextProtocol: true } } : {}
  const app = await open(undefined, undefined, { max: 1, ...one })
  const other = await open()
  for (let time = 0; time < 100; time++) {
    const name = `job ${time}`
    await app.query('begin')
    const lock = await app.provider.lock({ name, lockAtMostFor: '1m' }).catch(codeOf)
    await app.query('rollback')
    const second: Lock | undefined = await other.provider.lock({ name, lockAtMostFor: '1m' })
    const outcome = typeof lock === 'string' ? lock : lock && second ? 'two holders' : 'one holder'
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  await Promise.all([app.close(), other.close()])
  const kept = (outcomes.get('one holder') ?? 0) + (outcomes.get('INVALID_CLIENT') ?? 0)
  return { isKept: kept === 100, what: JSON.stringify(Object.fromEntries(outcomes)) }
}

/** Three instances of an app, one job a second with a slot, and one with a name of its own: how many errors their ORM logs. */
async function errors({ open }: Setting): Promise<Finding> {
  const apps = await Promise.all(times(3, () => open()))
  let ran = 0
  const began = Date.now()
  for (let due = 1; due <= 60; due++) {
    const slot = began + due * 200
    await sleep(Math.max(0, slot - Date.now()))
    const runs = apps.flatMap(({ provider }) =>
      ['job', `job ${due}`].map(async (name) => {
        const executor = new LockingTaskExecutor(provider)
        const result = await executor.executeWithLock({ name, slot, lockAtMostFor: '1m' }, () => sleep(20))
        if (result.executed) ran++
      }),
    )
    await Promise.all(runs)
  }
  const logged = apps.reduce((sum, app) => sum + app.errors(), 0)
  await Promise.all(apps.map((app) => app.close()))
  return {
    isKept: logged === 0 && ran === 120,
    what: `${logged} errors logged in 60 due times of 2 jobs, ${ran} runs`,
  }
}

/** A server without room, a wrong password, a host that swallows connections: what a lock does, and what it leaves behind. */
async function refused(setting: Setting): Promise<Finding> {
  const { database } = setting
  return behindProxy(setting, 0, async (url, proxy) => {
    const app = await setting.open(url, { timeLimit: '1s' })
    const handles = () => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length
    await (await app.provider.lock({ name: 'first', lockAtMostFor: '1m' }))?.unlock()
    await sleep(1_200)
    const before = handles()
    const outcomes = new Map<string, number>()
    // Each new connection is closed before it is answered.
    proxy.redirect(1)
    for (let round = 0; round < 10; round++)
      await Promise.all(
        times(100, async (each) => {
          const outcome = await app.provider
            .lock({ name: `job ${each}`, lockAtMostFor: '1m' })
            .then(async (lock) => (await lock?.unlock().catch(() => undefined), 'acquired'), codeOf)
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        }),
      )
    await sleep(2_500)
    const left = handles() - before
    proxy.redirect(Number(database.url.port))
    const healed = await app.provider.lock({ name: 'healed', lockAtMostFor: '1m' }).then(
      () => true,
      () => false,
    )
    await Promise.race([app.close().catch(() => undefined), sleep(2_000)])
    return {
      isKept: healed && left <= 0,
      what: `1000 locks without a server: ${JSON.stringify(Object.fromEntries(outcomes))}; sockets left ${left}; afterwards ${healed ? 'acquired' : 'failed'}`,
    }
  })
}

/** A user who may have as many connections as the app's pool, which is full or half full: how many of the app's queries are refused. */
async function limit({ open, database: { url, observer }, server, seconds }: Setting): Promise<Finding> {
  const name = `limited_${process.pid}`
  const account = server === 'postgres' ? name : `'${name}'@'%'`
  const statements =
    server === 'postgres'
      ? [`create role ${name} login connection limit 10`, `grant all on shedlock to ${name}`]
      : [`create user ${account} with max_user_connections 10`, `grant all on *.* to ${account}`]
  for (const statement of statements) await observer.query(statement)
  const limited = new URL(url)
  limited.username = name
  const counts: string[] = []
  for (const load of [10, 5]) {
    const app = await open(limited)
    const until = performance.now() + seconds * 1_000
    const count = { queries: 0, refused: 0, acquired: 0, failed: 0 }
    const work = async (): Promise<void> => {
      while (performance.now() < until) {
        await app.query(QUERY[server]).then(
          () => count.queries++,
          () => count.refused++,
        )
        // The pool lends its connections again and again, and sometimes all of them.
        if (load === 5 && Math.random() < 0.02)
          await Promise.allSettled(times(10, () => app.query(QUERY[server]).catch(() => count.refused++)))
      }
    }
    const locking = async (): Promise<void> => {
      for (let each = 0; performance.now() < until; each++) {
        await sleep(1_000)
        await app.provider.lock({ name: `job ${each}`, lockAtMostFor: '1m' }).then(
          async (lock) => (count.acquired++, lock?.unlock()),
          () => count.failed++,
        )
      }
    }
    // The worst case: the lock's connection comes first.
    const held = await app.provider.lock({ name: 'held', lockAtMostFor: '1h' })
    await Promise.all([...times(load, work), locking()])
    await held?.unlock()
    await app.provider.drain()
    await app.close()
    counts.push(`${load} of 10 connections in use: ${JSON.stringify(count)}`)
  }
  await observer.query(server === 'postgres' ? `drop owned by ${name}` : `drop user ${account}`)
  if (server === 'postgres') await observer.query(`drop role ${name}`)
  return { isKept: counts.every((count) => count.includes('"failed":0')), what: counts.join('; ') }
}

/** How many connections there are: idle, with one lock, with five hundred. */
async function connections({ open, database, server }: Setting): Promise<Finding> {
  const app = await open()
  const count = async (): Promise<number> => (await idsOf(database.observer, SESSIONS[server].all)).length
  await app.query('select 1')
  await sleep(100)
  const before = await count()
  const lock = await app.provider.lock({ name: 'one', lockAtMostFor: '1m' })
  await sleep(1_500)
  const one = (await count()) - before
  await lock?.unlock()
  const many = Promise.all(
    times(500, async (each) => {
      const acquired = await app.provider.lock({ name: `job ${each}`, lockAtMostFor: '1m' })
      await acquired?.unlock()
    }),
  )
  let most = 0
  let isOver = false
  void many.catch(() => undefined).finally(() => (isOver = true))
  while (!(isOver as boolean)) {
    most = Math.max(most, (await count()) - before)
    await sleep(20)
  }
  await many
  await sleep(1_500)
  const idle = (await count()) - before
  await app.close()
  return {
    isKept: one <= 1 && most <= 10 && idle <= 0,
    what: `with one lock ${one}, with 500 at most ${most}, idle ${idle}`,
  }
}

const SCENARIOS = { flood, bursts, crowd, silent, turn, begin, errors, refused, limit, connections }
type Scenario = keyof typeof SCENARIOS

async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = parse(args, {
    orm: { type: 'string', multiple: true, default: [...ORMS] },
    way: { type: 'string', default: 'own' },
    seconds: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  })
  const known = Object.keys(SCENARIOS) as Scenario[]
  const wanted = positionals.length > 0 ? positionals.map(oneOf(known)) : known
  const orms = values.orm.map(oneOf(ORMS))
  const way = oneOf(WAYS)(values.way)
  for (const scenario of wanted)
    for (const server of wantedServers())
      for (const orm of orms) {
        const database = await createDatabase(server)
        const open: Setting['open'] = (url = database.url, options = {}, extra = {}) =>
          openApp(orm, server, url, 10, options, extra, way)
        const finding = await SCENARIOS[scenario]({
          orm,
          server,
          way,
          database,
          seconds: number(values.seconds),
          open,
        })
        await database.drop()
        if (!finding.isKept) process.exitCode = 1
        const line = `${scenario}, ${server}, ${orm}, ${way}: ${finding.isKept ? 'kept' : 'BROKEN'}: ${finding.what}`
        console.log(values.json ? JSON.stringify({ scenario, server, orm, way, ...finding }) : line)
      }
  process.exit()
}

void runHarness(USAGE, main)
