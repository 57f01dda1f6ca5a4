import { Verrou } from '@verrou/core'
import { knexStore } from '@verrou/core/drivers/knex'
import { Logger, makeWorkerUtils, parseCronItems, run as runWorker } from 'graphile-worker'
import { Redis } from 'ioredis'
import knex, { type Knex } from 'knex'
import pg from 'pg'
import PgBoss from 'pg-boss'
import { javaShedLock } from './java-shedlock'
import { Redlock, type RedlockLock } from './redlock'
import type { Peer } from './operation'

const PEERS: Readonly<Record<string, (url: string) => Promise<Peer>[]>> = {
  postgres: (url) => [
    verrou({ client: 'pg', connection: url, pool: { min: 1, max: 1 } }),
    advisoryLock(url),
    skipLocked(url),
    pgBoss(url),
    graphileWorker(url),
    redlock(),
    redisSetNx(),
  ],
  mariadb: (url) => [verrouOnMysql(url)],
  mysql: (url) => [verrouOnMysql(url)],
  sqlite: (filename) => [
    verrou({ client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true }),
  ],
}

/**
 * Returns the alternatives to our lock on this database. Those on Redis are listed with PostgreSQL.
 *
 * @param table our table, which Java's ShedLock uses too
 */
export async function peersOn(database: string, url: string, table: string): Promise<Peer[]> {
  const peers = await Promise.all(PEERS[database]?.(url) ?? [])
  return [...peers, ...javaShedLock(database, url, table)]
}

function verrouOnMysql(url: string): Promise<Peer> {
  return verrou({ client: 'mysql2', connection: url, pool: { min: 1, max: 1 } })
}

async function verrou(config: Knex.Config): Promise<Peer> {
  const who = 'verrou (knex)'
  const connection = knex(config)
  const store = { driver: knexStore({ connection, tableName: 'verrou_bench' }) }
  const locks = new Verrou({ default: 'sql', stores: { sql: store } })
  await locks.createLock('held', '1h').acquireImmediately()
  return {
    operations: [
      {
        scenario: 'win + release',
        who,
        run: async () => {
          const lock = locks.createLock('win', '1m')
          if (!(await lock.acquireImmediately())) throw new Error('verrou lost')
          await lock.release()
        },
      },
      {
        scenario: 'lose',
        who,
        // A single attempt, because acquireImmediately() returns true for a held lock in some versions. The cost is the same.
        run: () => locks.createLock('held', '1m').acquireImmediately(),
      },
    ],
    close: async () => {
      await connection.schema.dropTableIfExists('verrou_bench')
      await connection.destroy()
    },
  }
}

/** A session's advisory lock. It has no row and no lease, and ends with the session's connection. */
async function advisoryLock(url: string): Promise<Peer> {
  const [own, other] = [new pg.Client(url), new pg.Client(url)]
  await Promise.all([own.connect(), other.connect()])
  await other.query('select pg_advisory_lock(4711)')
  return {
    operations: [
      {
        scenario: 'win + release',
        who: 'pg advisory lock (no lease)',
        run: async () => {
          await own.query('select pg_try_advisory_lock($1)', [4712])
          await own.query('select pg_advisory_unlock($1)', [4712])
        },
      },
      {
        scenario: 'lose',
        who: 'pg advisory lock (no lease)',
        run: () => own.query('select pg_try_advisory_lock($1)', [4711]),
      },
    ],
    close: async () => {
      await Promise.all([own.end(), other.end()])
    },
  }
}

/** A row lock held by an open transaction for as long as the task runs. */
async function skipLocked(url: string): Promise<Peer> {
  const [own, other] = [new pg.Client(url), new pg.Client(url)]
  await Promise.all([own.connect(), other.connect()])
  await own.query(`create table if not exists row_lock_bench (name text primary key)`)
  await own.query(`insert into row_lock_bench values ('held'), ('win') on conflict do nothing`)
  await other.query(`begin; select 1 from row_lock_bench where name = 'held' for update`)
  const attempt = async (name: string): Promise<void> => {
    await own.query('begin')
    await own.query('select 1 from row_lock_bench where name = $1 for update skip locked', [name])
    await own.query('commit')
  }
  const who = 'pg SKIP LOCKED (open transaction)'
  return {
    operations: [
      { scenario: 'win + release', who, run: () => attempt('win') },
      { scenario: 'lose', who, run: () => attempt('held') },
    ],
    close: async () => {
      await other.query('rollback')
      await own.query('drop table row_lock_bench')
      await Promise.all([own.end(), other.end()])
    },
  }
}

async function pgBoss(url: string): Promise<Peer> {
  const boss = new PgBoss({
    connectionString: url,
    schema: 'pgboss_bench',
    max: 1,
    supervise: false,
    schedule: false,
  })
  boss.on('error', () => undefined)
  await boss.start()
  await boss.createQueue('bench')
  let key = 0
  const send = (singletonKey: string) => boss.send('bench', {}, { singletonKey, singletonSeconds: 3600 })
  await send('held')
  const who = 'pg-boss singleton insert (no release)'
  return {
    operations: [
      { scenario: 'win + release', who, run: () => send(`win ${String(key++)}`) },
      { scenario: 'lose', who, run: () => send('held') },
    ],
    close: async () => {
      await boss.stop({ graceful: false })
      const client = new pg.Client(url)
      await client.connect()
      await client.query('drop schema pgboss_bench cascade')
      await client.end()
    },
  }
}

/**
 * The statement with which each worker's cron takes a due time and inserts its job. It is recorded from a worker that makes up for a due
 * time, because it belongs to no public function.
 */
async function graphileWorker(url: string): Promise<Peer> {
  const schema = 'graphile_bench'
  const pgPool = new pg.Pool({ connectionString: url })
  const logger = new Logger(() => () => undefined)
  const utils = await makeWorkerUtils({ pgPool, schema, logger })
  await utils.migrate()
  const identifier = 'bench'
  await pgPool.query(
    `insert into ${schema}._private_known_crontabs (identifier, known_since) values ($1, now() - interval '1 hour')
      on conflict do nothing`,
    [identifier],
  )
  const query = pgPool.query.bind(pgPool) as (...sent: unknown[]) => unknown
  const recorded = new Promise<readonly [text: string, values: readonly unknown[]]>((resolve) => {
    Object.assign(pgPool, {
      query: (text: unknown, values: unknown[]) => {
        if (typeof text === 'string' && text.includes('locks as')) resolve([text, values])
        return query(text, values)
      },
    })
  })
  const items = [{ task: 'bench', match: '* * * * *', identifier, options: { backfillPeriod: 120_000 } }]
  const worker = await runWorker({
    ...{ pgPool, schema, logger, noHandleSignals: true, taskList: { bench: () => undefined } },
    parsedCronItems: parseCronItems(items),
  })
  const [text, [job]] = await recorded
  await worker.stop()
  const own = new pg.Client(url)
  await own.connect()
  let due = Date.now()
  const take = (time: number) => own.query({ name: 'take', text, values: [job, new Date(time), null] })
  const who = 'graphile-worker cron (no release)'
  return {
    operations: [
      { scenario: 'win + release', who, run: () => take((due += 60_000)) },
      { scenario: 'lose', who, run: () => take(0) },
    ],
    close: async () => {
      await own.query(`drop schema ${schema} cascade`)
      await own.end()
      await utils.release()
      await pgPool.end()
    },
  }
}

async function redlock(): Promise<Peer> {
  const redis = new Redis(6379, '127.0.0.1')
  const locks = new Redlock([redis], { retryCount: 0 })
  locks.on('error', () => undefined)
  const held = await locks.acquire([`shedlock-bench:${process.pid}:held`], 3_600_000)
  return {
    operations: [
      {
        scenario: 'win + release',
        who: 'redlock (Redis)',
        run: async () => {
          await (await locks.acquire([`shedlock-bench:${process.pid}:win`], 60_000)).release()
        },
      },
      {
        scenario: 'lose',
        who: 'redlock (Redis)',
        run: () =>
          locks.acquire([`shedlock-bench:${process.pid}:held`], 60_000).then(
            (lock: RedlockLock) => lock.release(),
            () => undefined,
          ),
      },
    ],
    close: async () => {
      await held.release()
      await redis.quit()
    },
  }
}

/** The technique of BullMQ's job lock and of many home-made locks: SET NX PX, and a script that deletes the key by its token. */
async function redisSetNx(): Promise<Peer> {
  const redis = new Redis(6379, '127.0.0.1')
  const [held, win] = [`shedlock-bench:${process.pid}:nx-held`, `shedlock-bench:${process.pid}:nx-win`]
  await redis.set(held, 'other', 'PX', 3_600_000)
  const release = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
  const who = 'Redis SET NX PX (as BullMQ)'
  return {
    operations: [
      {
        scenario: 'win + release',
        who,
        run: async () => {
          await redis.set(win, 'me', 'PX', 60_000, 'NX')
          await redis.eval(release, 1, win, 'me')
        },
      },
      { scenario: 'lose', who, run: () => redis.set(held, 'me', 'PX', 60_000, 'NX') },
    ],
    close: async () => {
      await redis.del(held)
      await redis.quit()
    },
  }
}
