import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../test/eventually'
import { monotonic, type EventOf } from './history/events'
import { judge, violationsOf } from './history/referee'
import { number, parse, runHarness } from './options'
import { createDatabase, wantedServers, type ServerName } from './own-database'
import type { AppProcess } from './workers/app-process'
import { AppProcesses } from './workers/app-processes'
import { ORMS, type Orm } from './workers/client'
import type { Job } from './workers/jobs'

// Three instances of an app. In each round, one of them floods its pool, and one is killed.

const USAGE = `npm run soak -- [--rounds 60] [--seconds 60]

Prints one line of JSON for each round and server, and errors to stderr. --seconds is the length of a round, in steps of five.
BACKENDS names the servers, such as BACKENDS=postgres; POSTGRES_URL, MARIADB_URL and MYSQL_URL say where they are.`

const CONNECTIONS = {
  postgres: 'select count(*) as n from pg_stat_activity where datname = current_database()',
  mariadb: 'select count(*) as n from information_schema.processlist where db = database()',
  mysql: 'select count(*) as n from performance_schema.processlist where db = database()',
}

const SECONDS = [5, 10, 15, 20, 30, 60]

/** Each run ends before the job is due again, and so does the lock of a killed holder. Some jobs outlive their first lease. */
const JOBS = Array.from({ length: 30 }, (_, each): Job => {
  const every = (SECONDS[each % SECONDS.length] ?? 60) * 1_000
  const isKeptAlive = each % 5 === 0
  const runsFor = every * (isKeptAlive ? 0.6 : 0.05)
  return {
    ...{ name: `job ${each}`, every, slot: true, runsFor: [runsFor, runsFor] },
    lockAtMostFor: Math.min(every * 0.8, isKeptAlive ? 10_000 : every),
    ...(isKeptAlive && { keepAlive: true }),
  }
})

const slotOf = (name: string, due: number): string => `${name} at ${new Date(due).toISOString()}`

/** All due times of all jobs in this period. */
function slots(from: number, to: number): string[] {
  return JOBS.flatMap(({ name, every }) => {
    const first = Math.floor(from / every) + 1
    const count = Math.floor(to / every) - first + 1
    return Array.from({ length: count }, (_, each) => slotOf(name, (first + each) * every))
  })
}

/** In bytes. */
async function memoryOf(instance: AppProcess) {
  const asked = monotonic()
  instance.send({ type: 'measure' })
  const isAnswer = (event: { type: string; at?: number }): event is EventOf<'memory'> =>
    event.type === 'memory' && Number(event.at) > asked
  return eventually(() => {
    const answer = instance.events().find(isAnswer)
    if (!answer) throw new Error('An instance does not answer.')
    return { heap: answer.heap, rss: answer.rss }
  })
}

/** @param seconds the length of a round */
async function soak(server: ServerName, rounds: number, seconds: number): Promise<boolean> {
  const database = await createDatabase(server)
  // Read by what floods the pool.
  await database.observer.query('create table task_resource (name varchar(64))')
  const instances = new AppProcesses()
  const start = (place: number, orm: Orm): AppProcess => {
    const connection = { dialect: server, url: database.url.href, max: 10 }
    const work = { kind: 'jobs', jobs: JOBS } as const
    return instances.start({ orm, connection, isMeasured: true, work }, { place })
  }
  const count = async (statement: string): Promise<number> => {
    const [row] = await database.observer.query<{ n: number }[]>(statement)
    return Number(row?.n)
  }
  // The first two live as long as the app.
  const lasting = [start(0, 'typeorm'), start(1, 'prisma')]
  start(2, 'typeorm')
  await instances.ready()
  const round = seconds * 1_000
  // Nothing is due between two multiples of five seconds, and no run of a moment ago is still on its way.
  const from = Math.ceil(Date.now() / round) * round + 2_500
  const until = (rounds: number) => sleep(from + rounds * round - Date.now())
  let errors = 0
  await until(0)
  for (let each = 0; each < rounds; each++) {
    await until(each + 0.2)
    instances.current[each % 3]?.send({ type: 'exhaust', connections: 1_600, milliseconds: 50 })
    await until(each + 0.5)
    instances.current[2]?.signal('SIGKILL')
    start(2, ORMS[each % 2] ?? 'prisma')
    await until(each + 1)
    const due = slots(from, Date.now())
    const events = instances.events()
    const began = new Set(
      events.flatMap((event) => (event.type === 'slot' ? slotOf(event.name, event.slot) : [])),
    )
    const failed = events.filter((event) => event.type === 'failed' || (event.type === 'ended' && event.lost))
    for (const each of failed.slice(errors)) console.error(`${server}: ${JSON.stringify(each)}`)
    errors = failed.length
    const report = {
      ...{ server, minutes: ((each + 1) * seconds) / 60, dueTimes: due.length },
      missed: due.filter((slot) => !began.has(slot)),
      errors,
      rows: await count('select count(*) as n from shedlock'),
      // Without the observer's.
      connections: (await count(CONNECTIONS[server])) - 1,
      memory: await Promise.all(lasting.map(memoryOf)),
    }
    console.log(JSON.stringify(report))
  }
  await instances.stop()
  const violations = violationsOf(judge(instances.events()))
  for (const violation of violations) console.error(`${server}: ${JSON.stringify(violation)}`)
  await instances.close()
  await database.drop()
  return violations.length === 0
}

void runHarness(USAGE, async (args) => {
  const options = {
    rounds: { type: 'string', default: '60' },
    seconds: { type: 'string', default: '60' },
  } as const
  const { rounds, seconds } = parse(args, options).values
  const servers = wantedServers()
  const kept = await Promise.all(servers.map((server) => soak(server, number(rounds), number(seconds))))
  if (kept.includes(false)) process.exitCode = 1
})
