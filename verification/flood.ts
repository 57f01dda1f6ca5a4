import { setTimeout as sleep } from 'node:timers/promises'
import { LockError } from '../src/core/errors'
import { LockingTaskExecutor } from '../src/core/locking-task-executor'
import type { Lock } from '../src/core/lock'
import type { SqlLockProviderOptions } from '../src/sql/sql-lock-provider'
import { endOtherSessions, idsOf, SESSIONS } from '../test/backends/server-sessions'
import { TcpProxy } from '../test/backends/tcp-proxy'
import { number, oneOf, parse, runHarness } from './options'
import {
  createDatabase,
  openApp,
  ORMS,
  quantile,
  wantedServers,
  WAYS,
  type App,
  type Orm,
  type OwnDatabase,
  type ServerName,
  type Way,
} from './own-database'

// What a lock has to wait for besides its database: the app's own queries, other locks, dead connections, and what the app left behind.
// And what the app has to wait for because of its locks.

const USAGE = `npm run flood -- [SCENARIO …] [--orm TypeORM] [--way own|client|app] [--seconds 10] [--rounds 3] [--json]

Scenarios: flood, bursts, crowd, silent, begin, errors, refused, limit, connections, ended, frozen, held, locked; default all of them.
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
  readonly rounds: number
  /** Opens an app whose locks go the way. */
  readonly open: (url?: URL, options?: SqlLockProviderOptions, extra?: object) => Promise<App>
}

interface Finding {
  readonly isKept: boolean
  readonly what: string
  /** For the charts of `npm run bench:report`. */
  readonly figures?: object
}

const QUERY = {
  postgres: 'select 1 from pg_sleep(0.05)',
  mariadb: 'select sleep(0.05)',
  mysql: 'select sleep(0.05)',
}
const times = <T>(count: number, work: (each: number) => T): T[] =>
  Array.from({ length: count }, (_, each) => work(each))
const round = (milliseconds: number): string => `${Math.round(milliseconds)} ms`
const codeOf = (error: unknown): string => (error instanceof LockError ? error.code : String(error))

/** How often there was which outcome. */
class Outcomes {
  readonly #counts: Record<string, number> = {}

  readonly add = (outcome: string): void => {
    this.#counts[outcome] = this.of(outcome) + 1
  }

  of(outcome: string): number {
    return this.#counts[outcome] ?? 0
  }

  get text(): string {
    return JSON.stringify(this.#counts)
  }
}

const lock = ({ provider }: App, name: string): Promise<Lock | undefined> =>
  provider.lock({ name, lockAtMostFor: '1m' })
const lockAndUnlock = async (app: App, name: string): Promise<void> => (await lock(app, name))?.unlock()
/** Closes an app whose connections may never answer. */
const closeInTime = (app: App): Promise<unknown> =>
  Promise.race([app.close().catch(() => undefined), sleep(2_000)])

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
    .then(() => 'released', codeOf)
    .finally(() => (isOver = true))
  for (let each = 0; !(isOver as boolean); each++) {
    await sleep(300)
    const asked = performance.now()
    try {
      await lockAndUnlock(app, `other ${each}`)
      others.acquired++
    } catch {
      others.failed++
    }
    longest = Math.max(longest, performance.now() - asked)
  }
  const outcome = await flooding
  await app.close()
  return {
    figures: { longest },
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
    const keeper = new LockingTaskExecutor(app.provider)
    let lost: unknown
    let isAtWork = true
    await lockAndUnlock(app, 'held')
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
    const outcomes = new Outcomes()
    const all: Promise<void>[] = []
    for (let burst = 0; burst < 4; burst++) {
      for (let each = 0; each < 300; each++) {
        const job = { name: `job ${burst} ${each}`, lockAtMostFor: '1m' } as const
        const run = keeper.executeWithLock(job, () => undefined)
        all.push(run.then(() => 'ran', codeOf).then(outcomes.add))
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
      what: `${lost === undefined ? 'kept' : 'lost'}, ${kept}; of 1200 others ${outcomes.text}; held for nobody ${stillHeld}`,
    }
  })
}

/** Two hundred locks at once, on a distant database. */
function crowd(setting: Setting): Promise<Finding> {
  const distance = setting.server === 'postgres' ? 100 : 40
  return behindProxy(setting, distance, async (url) => {
    // As with jobs that have run before.
    const near = await setting.open()
    for (const name of times(200, (each) => `job ${each}`)) await lockAndUnlock(near, name)
    await near.close()
    const app = await setting.open(url)
    const outcomes = new Outcomes()
    const began = performance.now()
    let message = ''
    await Promise.all(
      times(200, async (each) => {
        try {
          const acquired = await lock(app, `job ${each}`)
          outcomes.add(acquired ? 'acquired' : 'held')
          await acquired?.unlock()
          outcomes.add('released')
        } catch (error) {
          message ||= (error as Error).message
          outcomes.add(codeOf(error))
        }
      }),
    )
    const took = performance.now() - began
    await app.close()
    return {
      isKept: outcomes.of('acquired') === 200 && outcomes.of('released') === 200,
      what: `${distance} ms away: ${outcomes.text} in ${round(took)}${message && `; ${message}`}`,
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
    const locks = await Promise.allSettled(times(5, (each) => lock(app, `job ${each}`)))
    const took = performance.now() - began
    const acquired = locks.filter(({ status }) => status === 'fulfilled').length
    await closeInTime(app)
    return {
      isKept: acquired >= (setting.server === 'postgres' ? 4 : 5),
      what: `${acquired} of 5 acquired in ${round(took)}`,
    }
  })
}

/** The first lock after a freeze, in which the server ended the connections, or fell silent, so that their ends never arrive. */
const frozen =
  (death: 'ended by the server' | 'silent') =>
  async (setting: Setting): Promise<Finding> => {
    const outcomes = new Outcomes()
    const took: number[] = []
    for (let round = 0; round < setting.rounds; round++)
      await behindProxy(setting, 0, async (url, proxy) => {
        const app = await setting.open(death === 'silent' ? url : undefined)
        const warm = await Promise.all(times(3, (each) => lock(app, `warm ${each}`)))
        for (const each of warm) await each?.unlock()
        // In a timer that is due when the process goes on.
        const locked = sleep(1).then(async () => {
          const began = performance.now()
          const first = await lock(app, 'first').catch(codeOf)
          outcomes.add(typeof first === 'string' ? first : 'acquired')
          took.push(performance.now() - began)
          if (typeof first === 'object') await first.unlock()
        })
        if (death === 'silent') proxy.silence()
        else endOtherSessions(setting.database.url.href)
        // Nothing in this process goes on meanwhile.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, setting.seconds * 1_000)
        await locked
        await closeInTime(app)
      })
    const p50 = quantile(took, 0.5)
    return {
      isKept: outcomes.of('acquired') === setting.rounds,
      what: `${outcomes.text}; p50 ${round(p50)}, longest ${round(Math.max(...took))}`,
      figures: { death, p50 },
    }
  }

/** A transaction that the app leaves open in its only connection just before a lock, and rolls back just after it. */
async function begin({ open, orm }: Setting): Promise<Finding> {
  const outcomes = new Outcomes()
  const one = orm === 'Prisma' ? { connectionLimit: 1, adapter: { useTextProtocol: true } } : {}
  const app = await open(undefined, undefined, { max: 1, ...one })
  const other = await open()
  for (let time = 0; time < 100; time++) {
    const name = `job ${time}`
    await app.query('begin')
    const first = await lock(app, name).catch(codeOf)
    await app.query('rollback')
    const second = await lock(other, name)
    outcomes.add(typeof first === 'string' ? first : first && second ? 'two holders' : 'one holder')
  }
  await Promise.all([app.close(), other.close()])
  return { isKept: outcomes.of('one holder') + outcomes.of('INVALID_CLIENT') === 100, what: outcomes.text }
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

/** A server that refuses connections, and a host that answers none: what locks do, and what they leave behind. */
async function refused(setting: Setting): Promise<Finding> {
  const { database } = setting
  return behindProxy(setting, 0, async (url, proxy) => {
    const app = await setting.open(url, { timeLimit: '1s' })
    const handles = () => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length
    await lockAndUnlock(app, 'first')
    await sleep(1_200)
    const before = handles()
    const outcomes = new Outcomes()
    const asked = async (each: number): Promise<void> =>
      outcomes.add(await lockAndUnlock(app, `job ${each}`).then(() => 'acquired', codeOf))
    // Each new connection is closed before it is answered.
    proxy.redirect(1)
    for (let round = 0; round < 10; round++) await Promise.all(times(100, asked))
    await sleep(2_500)
    const left = handles() - before
    proxy.redirect(Number(database.url.port))
    proxy.mute(true)
    await Promise.all(times(100, asked))
    proxy.mute(false)
    const healed = await lock(app, 'healed').then(() => 'acquired', codeOf)
    await closeInTime(app)
    return {
      isKept: healed === 'acquired' && left <= 0,
      what: `1100 locks without a server: ${outcomes.text}; sockets left ${left}; afterwards ${healed}`,
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
        await lock(app, `job ${each}`).then(
          async (acquired) => (count.acquired++, acquired?.unlock()),
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
  // A busy machine may take long for 500 locks; their number is what counts.
  const app = await open(undefined, { timeLimit: '30s' })
  const count = async (): Promise<number> => (await idsOf(database.observer, SESSIONS[server].all)).length
  await app.query('select 1')
  await sleep(100)
  const before = await count()
  const held = await lock(app, 'one')
  await sleep(1_500)
  const one = (await count()) - before
  await held?.unlock()
  const many = Promise.all(times(500, (each) => lockAndUnlock(app, `job ${each}`)))
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

/**
 * Fifty attempts a second at a lock that is held, or whose row another session keeps locked: how long the app's own queries take
 * meanwhile, how many sessions were ended, and how many wait on the server.
 */
const fiftyAttempts =
  (row: 'held' | 'locked') =>
  async ({ open, database: { observer }, server, seconds }: Setting): Promise<Finding> => {
    // Otherwise pg's pool ends sessions itself.
    const app = await open(undefined, {}, server === 'postgres' ? { idleTimeoutMillis: 0 } : {})
    const held = await app.provider.lock({ name: 'job', lockAtMostFor: '1h' })
    if (row === 'locked') await held?.unlock()
    await Promise.all(times(10, () => app.query('select 1')))
    const blocker = observer.createQueryRunner()
    await blocker.startTransaction()
    if (row === 'locked') await blocker.query(`select * from shedlock where name = 'job' for update`)

    const outcomes = new Outcomes()
    const took: number[] = []
    const [seen, alive] = [new Set<string>(), new Set<string>()]
    let [waiting, unanswered] = [0, 0]
    const until = performance.now() + seconds * 1_000
    const every = async (interval: number, step: () => unknown): Promise<void> => {
      for (let due = performance.now(); due < until; due += interval) {
        await sleep(Math.max(0, due - performance.now()))
        await step()
      }
    }
    const attempt = (): void => {
      void lock(app, 'job')
        .then((acquired) => (acquired ? 'acquired' : 'held'), codeOf)
        .then(outcomes.add)
    }
    const ask = (): void => {
      const began = performance.now()
      unanswered++
      void app
        .query('select 1')
        .then(() => took.push(performance.now() - began))
        .catch(() => outcomes.add('select 1 failed'))
        .finally(() => unanswered--)
    }
    const countWaiting = async (): Promise<number> => (await idsOf(observer, SESSIONS[server].waiting)).length
    const watch = async (): Promise<void> => {
      alive.clear()
      for (const id of await idsOf(observer, SESSIONS[server].all)) {
        seen.add(id)
        alive.add(id)
      }
      waiting = Math.max(waiting, await countWaiting())
    }
    await Promise.all([every(20, attempt), every(50, ask), every(250, watch)])
    const late = unanswered
    if (row === 'locked') await sleep(6_000)
    const left = await countWaiting()
    await blocker.rollbackTransaction()
    await blocker.release()
    await Promise.race([app.provider.drain('5s'), sleep(10_000)])
    await closeInTime(app)
    const [p50, p99] = [quantile(took, 0.5), quantile(took, 0.99)]
    return {
      isKept: outcomes.of('acquired') + outcomes.of('select 1 failed') + left === 0,
      what: `${outcomes.text}; select 1 in ${round(p50)} (p50), ${round(p99)} (p99), ${late} unanswered; sessions ended ${seen.size - alive.size}; waiting at most ${waiting}, in the end ${left}`,
      figures: { row, p50, p99 },
    }
  }

const SCENARIOS = {
  ...{ flood, bursts, crowd, silent, begin, errors, refused, limit, connections },
  ended: frozen('ended by the server'),
  frozen: frozen('silent'),
  held: fiftyAttempts('held'),
  locked: fiftyAttempts('locked'),
}
type Scenario = keyof typeof SCENARIOS

async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = parse(args, {
    orm: { type: 'string', multiple: true, default: [...ORMS] },
    way: { type: 'string', default: 'own' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
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
        const [seconds, rounds] = [number(values.seconds), number(values.rounds)]
        const { figures, ...finding } = await SCENARIOS[scenario]({
          ...{ orm, server, way, database, seconds, rounds, open },
        })
        await database.drop()
        if (!finding.isKept) process.exitCode = 1
        const line = `${scenario}, ${server}, ${orm}, ${way}: ${finding.isKept ? 'kept' : 'BROKEN'}: ${finding.what}`
        console.log(
          values.json ? JSON.stringify({ scenario, server, orm, way, ...finding, ...figures }) : line,
        )
      }
  process.exit()
}

void runHarness(USAGE, main)
