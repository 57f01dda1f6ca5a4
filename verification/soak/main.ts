import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { program } from '../../test/processes/program'
import { number, parse, runHarness } from '../options'
import { createDatabase, ORMS, wantedServers, type Orm, type ServerName } from '../own-database'
import { JOBS, type Instance, type MessageFromInstance, type MessageToInstance } from './plan'

// Three instances of an app. In each round, one of them floods its pool, and one is killed.

const USAGE = `npm run soak -- [--rounds 60] [--seconds 60]

Prints one line of JSON for each round and server, and errors to stderr. --seconds is the length of a round, in steps of five.
BACKENDS names the servers, such as BACKENDS=postgres; POSTGRES_URL, MARIADB_URL and MYSQL_URL say where they are.`

const PROGRAM = program(join(__dirname, 'instance.ts'))
const CONNECTIONS = {
  postgres: 'select count(*) as n from pg_stat_activity where datname = current_database()',
  mariadb: 'select count(*) as n from information_schema.processlist where db = database()',
  mysql: 'select count(*) as n from performance_schema.processlist where db = database()',
}

interface Run {
  readonly name: string
  readonly due: number
  readonly began: number
  /** Missing in a run that was killed, or goes on. */
  ended?: number
}

/** How often a job began twice for one due time, and how often it began before its run of an earlier due time had ended. */
function violations(runs: readonly Run[]): { twice: number; overlaps: number } {
  const last = new Map<string, Run>()
  const overlapping = runs
    .toSorted((one, other) => one.began - other.began)
    .filter((run) => {
      const before = last.get(run.name)
      last.set(run.name, run)
      return (before?.ended ?? 0) > run.began
    })
  return { twice: runs.length - new Set(runs.map(slotOf)).size, overlaps: overlapping.length }
}

const slotOf = ({ name, due }: Pick<Run, 'name' | 'due'>): string =>
  `${name} at ${new Date(due).toISOString()}`

/** All due times of all jobs in this period. */
function slots(from: number, to: number): string[] {
  return JOBS.flatMap(({ name, every }) => {
    const first = Math.floor(from / every) + 1
    const count = Math.floor(to / every) - first + 1
    return Array.from({ length: count }, (_, each) => slotOf({ name, due: (first + each) * every }))
  })
}

class App {
  readonly runs: Run[] = []
  errors = 0
  /** The first two live as long as the app; the third one is killed every minute. */
  readonly #instances: ChildProcess[] = []

  constructor(
    private readonly server: ServerName,
    private readonly url: string,
  ) {
    this.start(0, 'TypeORM')
    this.start(1, 'Prisma')
    this.start(2, 'TypeORM')
  }

  start(place: number, orm: Orm): void {
    const instance: Instance = { orm, server: this.server, url: this.url }
    const child = fork(PROGRAM, [JSON.stringify(instance)], {
      execArgv: ['--expose-gc'],
      // It sends them to this process.
      env: { ...process.env, NODE_NO_WARNINGS: '1' },
    })
    const open = new Map<string, Run>()
    child.on('message', (message: MessageFromInstance) => {
      if (message.type === 'failed') {
        this.errors++
        const when = new Date().toISOString()
        console.error(`${when} ${this.server}, instance ${place} (${orm}, ${child.pid}): ${message.error}`)
      }
      if (message.type === 'began') {
        const run = { name: message.name, due: message.due, began: message.at }
        open.set(message.name, run)
        this.runs.push(run)
      }
      const run = message.type === 'ended' && open.get(message.name)
      if (run) run.ended = message.at
    })
    child.once('exit', (code) => {
      if (code) throw new Error(`Instance ${place} on ${this.server} ended with ${code}.`)
    })
    this.#instances[place] = child
  }

  tell(place: number, message: MessageToInstance): void {
    this.#instances[place]?.send(message)
  }

  async replace(place: number, orm: Orm): Promise<void> {
    const old = this.#instances[place]
    old?.kill('SIGKILL')
    if (old) await once(old, 'exit')
    this.start(place, orm)
  }

  /** Waits until the first instances have connected. */
  async ready(): Promise<void> {
    await Promise.all(this.#instances.map((child) => once(child, 'message')))
  }

  /** The memory of the instances that live as long as the app, in bytes. */
  memory() {
    const answers = this.#instances.slice(0, 2).map(async (child) => {
      child.send('measure' satisfies MessageToInstance)
      for (;;) {
        const [message] = (await once(child, 'message')) as [MessageFromInstance]
        if (message.type === 'memory') return { heap: message.heap, rss: message.rss }
      }
    })
    return Promise.all(answers)
  }

  async stop(): Promise<void> {
    const ended = this.#instances.map((child) => once(child, 'exit'))
    for (const child of this.#instances) child.send('stop' satisfies MessageToInstance)
    await Promise.all(ended)
  }
}

/** @param seconds the length of a round */
async function soak(server: ServerName, rounds: number, seconds: number): Promise<boolean> {
  const database = await createDatabase(server)
  const app = new App(server, database.url.href)
  const count = async (statement: string): Promise<number> => {
    const [row] = await database.observer.query<{ n: number }[]>(statement)
    return Number(row?.n)
  }
  await app.ready()
  const round = seconds * 1_000
  // Nothing is due between two multiples of five seconds, and no run of a moment ago is still on its way.
  const from = Math.ceil(Date.now() / round) * round + 2_500
  const until = (rounds: number) => sleep(from + rounds * round - Date.now())
  await until(0)
  for (let each = 0; each < rounds; each++) {
    await until(each + 0.2)
    app.tell(each % 3, 'flood')
    await until(each + 0.5)
    await app.replace(2, ORMS[each % 2] ?? 'Prisma')
    await until(each + 1)
    const due = slots(from, Date.now())
    const began = new Set(app.runs.map(slotOf))
    const report = {
      ...{ server, minutes: ((each + 1) * seconds) / 60, dueTimes: due.length },
      missed: due.filter((slot) => !began.has(slot)),
      ...violations(app.runs),
      errors: app.errors,
      rows: await count('select count(*) as n from shedlock'),
      // Without the observer's.
      connections: (await count(CONNECTIONS[server])) - 1,
      memory: await app.memory(),
    }
    console.log(JSON.stringify(report))
  }
  await app.stop()
  await database.drop()
  const { twice, overlaps } = violations(app.runs)
  return twice + overlaps === 0
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
