import { measure, type Measured } from './measure'
import { median } from './quantile'
import { asMany } from './fraction'
import { makeLockTable } from './lock-table'
import { openProvider, winAndRelease } from './open-provider'
import type { Operation } from './operation'
import { benchDatabase, location } from './raw-clients'
import { OUR_STATEMENTS } from './floor'
import { rawLock } from './statements'

const ROWS = [1, asMany(1_000), asMany(10_000), asMany(100_000)]

export interface Growth extends Measured {
  readonly rows: number
}

/** Measures the same lock in tables with more and more rows. */
export async function growth(database: string, rounds: number, time: number): Promise<Growth[]> {
  const { url, remove } = location(database)
  const open = await Promise.all(
    ROWS.map((rows) =>
      openProvider(database, url, 1, {
        make: { expired: names(rows - 1), table: `shedlock_bench_${String(rows)}` },
      }),
    ),
  )
  const operations = open.flatMap(({ provider }, index): Operation[] => {
    const who = String(ROWS[index])
    return [
      { scenario: 'win + release', who, run: () => winAndRelease(provider, 'name 0') },
      { scenario: 'lose', who, run: () => provider.lock({ name: 'held', lockAtMostFor: 60_000 }) },
    ]
  })
  const measured = await measure(operations, rounds, time)
  for (const { close } of open) await close()
  remove()
  return measured.map((one) => ({ ...one, rows: Number(one.who) }))
}

export interface Crowd {
  readonly who: string
  /** Microseconds for each acquisition and release: the median of the rounds, with the lowest and the highest. */
  readonly median: number
  readonly low: number
  readonly high: number
}

const NAMES = 1_000
const CONNECTIONS = 8

/** Measures a thousand locks that are acquired and released at once over eight connections. */
export async function crowd(name: string, rounds: number): Promise<Crowd[]> {
  const database = benchDatabase(name)
  const { url, remove } = location(name)
  const raw = database.raw(url, CONNECTIONS)
  const all = names(NAMES)
  await makeLockTable(database, raw, 'shedlock_bench_raw', all)
  const bare = rawLock(
    database.dialect,
    'shedlock_bench_raw',
    database.placeholder,
    raw.runPrepared ?? raw.run,
  )
  const ours = await openProvider(name, url, CONNECTIONS, { make: { expired: all } })
  const runs: Record<string, (lock: string) => Promise<unknown>> = {
    [OUR_STATEMENTS]: (lock) => bare.winAndRelease(lock),
    'ours: TypeORM': (lock) => winAndRelease(ours.provider, lock),
  }
  const seen = Object.keys(runs).map((who) => ({ who, times: [] as number[] }))
  for (let round = 0; round <= rounds; round++) {
    for (const { who, times } of seen) {
      const began = performance.now()
      await Promise.all(all.map(async (lock) => runs[who]?.(lock)))
      if (round > 0) times.push(((performance.now() - began) * 1000) / NAMES)
    }
  }
  await ours.close()
  await raw.run('drop table shedlock_bench_raw')
  await raw.close()
  remove()
  return seen.map(({ who, times }) => ({
    who,
    median: median(times),
    low: Math.min(...times),
    high: Math.max(...times),
  }))
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `name ${String(index)}`)
}
