import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { LockError, LockingTaskExecutor } from 'shedlock-orm'
import { prismaLockProvider } from 'shedlock-orm/prisma'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { DataSource } from 'typeorm'
import { makeLockTable } from './lock-table'
import { median, quantile } from './quantile'
import { openClients } from './prisma'
import { benchDatabase, location } from './raw-clients'
import { digits, table } from './tables'

/** Measures many jobs that are due in the same second on several instances. Each instance is a process with a pool of its own. */
const { values: given } = parseArgs({
  allowPositionals: true,
  options: {
    db: { type: 'string', default: 'postgres,mariadb' },
    rounds: { type: 'string', default: '7' },
    jobs: { type: 'string', default: '500' },
    // The pool sizes of each instance. 10 is pg's default, and the only size that is measured for the last two rows.
    pools: { type: 'string', default: '2,5,10' },
    orm: { type: 'string', default: 'typeorm' },
  },
})
const [JOBS, INSTANCES, TABLE] = [Number(given.jobs), 4, 'shedlock_bench_spread']
const POOLS = given.pools.split(',').map(Number)
const jobs = Array.from({ length: JOBS }, (_, index) => `job ${String(index)}`)

interface Fire {
  /** Milliseconds since 1970: the slot of each job. */
  readonly due: number
  /** In milliseconds, the longest random delay of each job. */
  readonly jitter: number
  /** PostgreSQL only: one statement acquires all locks that can be acquired. */
  readonly atOnce: boolean
}

/** For each job, how many milliseconds after the slot its answer arrived. */
interface Answers {
  readonly ran: number[]
  readonly skipped: number[]
  readonly late: number[]
  /** Milliseconds of processor time, for all jobs together. */
  cpu: number
}

/** Runs one instance: waits for the slot, and answers when all its jobs have run or were skipped. */
async function instance(name: string, url: string, pool: number): Promise<void> {
  const dataSource = await new DataSource(benchDatabase(name).typeOrm(url, pool)).initialize()
  const prisma =
    given.orm === 'prisma' ? (await openClients(benchDatabase(name).dialect.name, url, pool))[''] : undefined
  const provider = prisma
    ? prismaLockProvider(prisma, { tableName: TABLE })
    : typeOrmLockProvider(dataSource, { tableName: TABLE })
  const executor = new LockingTaskExecutor(provider)
  const answers = (): Answers => ({ ran: [], skipped: [], late: [], cpu: 0 })
  const each = async ({ due, jitter }: Fire): Promise<Answers> => {
    const results = answers()
    const run = async (job: string): Promise<void> => {
      await sleep(Math.random() * jitter)
      const lock = { name: job, lockAtMostFor: '10m', slot: due }
      const task = (): void => void results.ran.push(Date.now() - due)
      const done = await executor.executeWithLock(lock, task).catch((error: unknown) => {
        if (!(error instanceof LockError) || error.code !== 'TIMEOUT') throw error
        results.late.push(Date.now() - due)
      })
      if (done && !done.executed) results.skipped.push(Date.now() - due)
    }
    await Promise.all(jobs.map(run))
    return results
  }
  const atOnce = async ({ due }: Fire): Promise<Answers> => {
    const results = answers()
    const { length: count } = await dataSource.query<unknown[]>(ALL_AT_ONCE, [jobs, due])
    results.ran.push(...Array.from({ length: count }, () => Date.now() - due))
    results.skipped.push(...Array.from({ length: JOBS - count }, () => Date.now() - due))
    return results
  }
  const answer = async (fire: Fire): Promise<void> => {
    await sleep(Math.max(0, fire.due - Date.now()))
    const before = process.cpuUsage()
    const results = await (fire.atOnce ? atOnce(fire) : each(fire))
    const { user, system } = process.cpuUsage(before)
    process.send?.({ ...results, cpu: (user + system) / 1000 })
  }
  process.on('message', (fire: Fire) => void answer(fire))
  process.once(
    'disconnect',
    () => void executor.shutdown().then(() => Promise.all([dataSource.destroy(), prisma?.$disconnect()])),
  )
  process.send?.('ready')
}

/** Our statement for one row, extended to all given rows. It locks them in a fixed order, so that no two statements deadlock. */
const ALL_AT_ONCE = `insert into ${TABLE} as locks (name, lock_until, locked_at, locked_by)
  select name, (clock_timestamp() at time zone 'utc') + interval '10 minutes', to_timestamp($2::float8 / 1000) at time zone 'utc', 'bench'
  from unnest($1::text[]) as name order by name
  on conflict (name) do update set lock_until = excluded.lock_until, locked_at = excluded.locked_at, locked_by = excluded.locked_by
  where locks.lock_until <= clock_timestamp() at time zone 'utc' and locks.locked_at < excluded.locked_at
  returning name`

async function measure(
  name: string,
  pool: number,
  jitter: number,
  rounds: number,
  atOnce = false,
): Promise<string[]> {
  const database = benchDatabase(name)
  const { url } = location(name)
  const control = database.raw(url)
  await makeLockTable(database, control, TABLE, jobs)
  const children = Array.from({ length: INSTANCES }, () =>
    fork(__filename, [name, url, String(pool), '--jobs', String(JOBS), '--orm', given.orm]),
  )
  const answered = (child: ChildProcess): Promise<unknown> =>
    once(child, 'message').then(([answer]) => answer as unknown)
  const { cpu } = database.counters(control.run, url)
  const measured: { ran: number[]; late: number; end: number; apps: number; server: number }[] = []
  try {
    await Promise.all(children.map(answered))
    // The first round is a warm-up, which opens the connections.
    for (let round = 0; round <= rounds; round++) {
      const work = await cpu()
      const fire: Fire = { due: Date.now() + 300, jitter, atOnce }
      const waiting = children.map(answered)
      for (const child of children) child.send(fire)
      const all = (await Promise.all(waiting)) as Answers[]
      const of = (key: 'ran' | 'skipped' | 'late'): number[] => all.flatMap((one) => one[key])
      const [ran, late] = [of('ran'), of('late')]
      if (ran.length > JOBS) throw new Error(`${String(ran.length)} jobs ran.`)
      const end = Math.max(...ran, ...of('skipped'), ...late)
      const apps = all.reduce((sum, one) => sum + one.cpu, 0)
      if (round > 0) measured.push({ ran, late: late.length, end, apps, server: (await work()) / 1000 })
      // Frees all locks for the next round, including those that were not released in time.
      await control.run(`update ${TABLE} set lock_until = locked_at`)
    }
  } finally {
    for (const child of children) child.disconnect()
    await Promise.all(children.map((child) => once(child, 'exit')))
    await control.run(`drop table ${TABLE}`)
    await control.close()
  }
  // Take the fastest round, because other load on the machine only makes rounds slower.
  const [best] = measured.sort((one, other) => one.end - other.end)
  if (!best) throw new Error('It needs a round.')
  const shown = [median(best.ran), quantile(best.ran, 0.99), best.end, best.apps, best.server, best.late]
  return [name, atOnce ? 'one statement' : String(pool), String(jitter / 1000)].concat(
    shown.map((value) => digits(value)),
  )
}

async function main(): Promise<void> {
  const rounds = Number(given.rounds)
  const rows: string[][] = []
  for (const name of given.db.split(',')) {
    for (const pool of POOLS) rows.push(await measure(name, pool, 0, rounds))
    if (!POOLS.includes(10)) continue
    rows.push(await measure(name, 10, 5_000, rounds))
    if (name === 'postgres' && given.orm === 'typeorm') rows.push(await measure(name, 1, 0, rounds, true))
  }
  const head = [
    'database',
    'pool',
    'jitter s',
    'runs begin, median ms',
    'p99',
    'all answered',
    'apps CPU',
    'server CPU',
    'TIMEOUT',
  ]
  process.stdout.write(`${table(head, rows)}\n`)
}

const [, , name = '', url, pool] = process.argv
void (url !== undefined && pool !== undefined && process.send ? instance(name, url, Number(pool)) : main())
