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

const USAGE = `npm run thaw -- [--rounds 20] [--pool 3]

BACKENDS names the servers, such as BACKENDS=postgres; POSTGRES_URL, MARIADB_URL and MYSQL_URL say where they are.`

const DEATHS = ['ended by the server', 'silent'] as const
type Death = (typeof DEATHS)[number]

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
    if (death !== 'silent') endOtherSessions(url.href)
    const outcome = await locked
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    await Promise.race([app.close().catch(() => undefined), later(2_000)])
    await proxy.close()
    await database.drop()
  }
  return `${server}; ${orm}; ${death}: ${JSON.stringify(Object.fromEntries(outcomes))}; p50 ${quantile(times, 0.5).toFixed(0)} ms, longest ${Math.max(0, ...times).toFixed(0)} ms`
}

const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

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
