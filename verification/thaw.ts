import { spawnSync } from 'node:child_process'
import { DataSource } from 'typeorm'
import { root } from '../test/project'
import { TcpProxy } from '../test/backends/tcp-proxy'
import { number, parse, runHarness } from './options'
import {
  createDatabase,
  openApp,
  ORMS,
  quantile,
  SERVERS,
  wantedServers,
  type Orm,
  type ServerName,
} from './own-database'

// The first lock after a freeze: while the process stands still, the server closes its idle connections, or a proxy in between goes
// silent, so that their ends never arrive.

const USAGE = `npm run thaw -- [--rounds 20] [--pool 3]

BACKENDS names the servers, such as BACKENDS=postgres; POSTGRES_URL, MARIADB_URL and MYSQL_URL say where they are.`

const DEATHS = ['ended by the server', 'silent'] as const
type Death = (typeof DEATHS)[number]

/** Ends all other connections to the database, in another process, while this one stands still. */
const END_OTHERS = `
  const [url] = process.argv.slice(1)
  const end = async () => {
    if (url.startsWith('postgres')) {
      const client = new (require('pg').Client)(url)
      await client.connect()
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()')
      return client.end()
    }
    const connection = await require('mysql2/promise').createConnection(url)
    const [others] = await connection.query('select id from information_schema.processlist where db = database() and id <> connection_id()')
    for (const { id } of others) await connection.query('kill ' + id)
    await connection.end()
  }
  end()`

async function measure(orm: Orm, server: ServerName, death: Death, rounds: number, pool: number) {
  const outcomes = new Map<string, number>()
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const database = await createDatabase(server)
    const { url } = database
    const proxy = await TcpProxy.listen(Number(url.port))
    const behind = new URL(url)
    behind.port = String(proxy.port)
    const app = await openApp(orm, server, death === 'silent' ? behind : url, pool)
    const warm = Array.from({ length: pool }, (_, each) =>
      app.provider.lock({ name: `warm ${each}`, lockAtMostFor: '1m' }),
    )
    for (const lock of await Promise.all(warm)) await lock?.unlock()
    if (death === 'silent') proxy.silence()
    const locked = new Promise<string>((resolve) => {
      setTimeout(() => {
        const began = performance.now()
        app.provider.lock({ name: 'first', lockAtMostFor: '1m' }).then(
          (lock) => {
            times.push(performance.now() - began)
            resolve(lock ? 'acquired' : 'held')
          },
          (error: unknown) => resolve((error as { code?: string }).code ?? String(error)),
        )
      }, 1)
    })
    if (death !== 'silent') spawnSync(process.execPath, ['-e', END_OTHERS, url.href], { cwd: root })
    const outcome = await locked
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    await Promise.race([app.close().catch(() => undefined), later(2_000)])
    await proxy.close()
    await database.drop().catch(() => dropByForce(server, url))
  }
  return `${server}; ${orm}; ${death}: ${JSON.stringify(Object.fromEntries(outcomes))}; p50 ${quantile(times, 0.5).toFixed(0)} ms, longest ${Math.max(0, ...times).toFixed(0)} ms`
}

const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

async function dropByForce(server: ServerName, url: URL): Promise<void> {
  const admin = await new DataSource({ type: server, url: SERVERS[server] }).initialize()
  const force = server === 'postgres' ? ' with (force)' : ''
  await admin.query(`drop database if exists ${url.pathname.slice(1)}${force}`)
  await admin.destroy()
}

async function main(args: readonly string[]): Promise<void> {
  const { values } = parse(args, {
    rounds: { type: 'string', default: '20' },
    pool: { type: 'string', default: '3' },
  })
  for (const server of wantedServers())
    for (const orm of ORMS)
      for (const death of DEATHS)
        console.log(await measure(orm, server, death, number(values.rounds), number(values.pool)))
  process.exit()
}

void runHarness(USAGE, main)
