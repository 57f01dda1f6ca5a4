import { endOtherSessions } from '../test/backends/server-sessions'
import { TcpProxy } from '../test/backends/tcp-proxy'
import { number, parse, runHarness } from './options'
import {
  createDatabase,
  openApp,
  ORMS,
  quantile,
  wantedServers,
  type Orm,
  type ServerName,
} from './own-database'

// The first lock after a freeze: while the process stands still, the server closes its idle connections, or a proxy in between goes
// silent, so that their ends never arrive.

const USAGE = `npm run thaw -- [--rounds 20] [--pool 3] [--seconds 12] [--json]

BACKENDS names the servers, such as BACKENDS=postgres; POSTGRES_URL, MARIADB_URL and MYSQL_URL say where they are.`

const DEATHS = ['ended by the server', 'silent'] as const
type Death = (typeof DEATHS)[number]

/** As the pool of pg does by default; that of mysql2 keeps idle connections for ever, unless `maxIdle` is less than the size of the pool. */
const closesIdle = (pool: number) => ({ maxIdle: pool - 1, idleTimeout: 10_000 })

interface Freeze {
  readonly rounds: number
  readonly pool: number
  readonly seconds: number
}

async function measure(orm: Orm, server: ServerName, death: Death, { rounds, pool, seconds }: Freeze) {
  const outcomes = new Map<string, number>()
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const database = await createDatabase(server)
    const { url } = database
    const proxy = await TcpProxy.listen(Number(url.port))
    const behind = new URL(url)
    behind.port = String(proxy.port)
    const extra = orm === 'TypeORM' && server !== 'postgres' ? closesIdle(pool) : {}
    const app = await openApp(orm, server, death === 'silent' ? behind : url, pool, {}, extra)
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
    if (death !== 'silent') endOtherSessions(url.href)
    standStill(seconds)
    const outcome = await locked
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    await Promise.race([app.close().catch(() => undefined), later(2_000)])
    await proxy.close()
    await database.drop()
  }
  const [p50, longest] = [quantile(times, 0.5), Math.max(0, ...times)]
  return { server, orm, death, outcomes: Object.fromEntries(outcomes), p50, longest }
}

function sentence(measured: Awaited<ReturnType<typeof measure>>): string {
  const { server, orm, death, outcomes, p50, longest } = measured
  return `${server}, ${orm}, ${death}: ${JSON.stringify(outcomes)}; p50 ${p50.toFixed(0)}, longest ${longest.toFixed(0)} ms`
}

/** Nothing in this process goes on meanwhile, as if it were suspended: what was due begins when it is over. */
function standStill(seconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, seconds * 1_000)
}

const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

async function main(args: readonly string[]): Promise<void> {
  const { values } = parse(args, {
    rounds: { type: 'string', default: '20' },
    pool: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '12' },
    json: { type: 'boolean', default: false },
  })
  const freeze = {
    rounds: number(values.rounds),
    pool: number(values.pool),
    seconds: number(values.seconds),
  }
  for (const server of wantedServers())
    for (const orm of ORMS)
      for (const death of DEATHS) {
        const measured = await measure(orm, server, death, freeze)
        console.log(values.json ? JSON.stringify(measured) : sentence(measured))
      }
  process.exit()
}

void runHarness(USAGE, main)
