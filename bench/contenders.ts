import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ContenderOrder, ContenderReport } from './contender-process'
import { median, quantile } from './quantile'
import { openProvider, winAndRelease } from './open-provider'
import { location } from './raw-clients'

/**
 * The results for one lock that one process acquires and releases continuously while contenders in another process try to acquire
 * it.
 */
export interface Contention {
  readonly contenders: number
  /** How many times any process acquired and released the lock. */
  readonly winsPerSecond: number
  /** The median of the rounds' ratios to the throughput without contenders. */
  readonly timesUncontended: number
  /** The times of refused attempts. */
  readonly lose: Spread
  /** The times of plain reads by the same contenders. */
  readonly read: Spread
}

/** In microseconds; null if there was nothing to measure. */
export interface Spread {
  readonly median: number | null
  readonly p99: number | null
}

const CONTENDERS = [0, 1, 4, 16, 64]
/**
 * In milliseconds, the average interval between two attempts of one contender. Real jobs try once a minute, not ten times a second.
 */
const PAUSE = 100

export async function contention(database: string, rounds: number, time: number): Promise<Contention[]> {
  const { url, remove } = location(database)
  const winner = await openProvider(database, url, 1, { expired: ['contended'] })
  const child = fork(join(__dirname, 'contender-process.ts'), [
    database,
    url,
    String(Math.max(...CONTENDERS)),
  ])
  const order = async (contenders: number): Promise<ContenderReport> => {
    const answered = once(child, 'message')
    child.send({ contenders, pause: PAUSE } satisfies ContenderOrder)
    return (await answered)[0] as ContenderReport
  }
  const seen = CONTENDERS.map((contenders) => ({
    contenders,
    wins: [] as number[],
    lost: [] as number[],
    read: [] as number[],
  }))
  try {
    await once(child, 'message')
    for (let round = 0; round <= rounds; round++) {
      for (const one of seen) {
        await order(one.contenders)
        const began = performance.now()
        const wins = await winsUntil(began + time, () => winAndRelease(winner.provider, 'contended'))
        const { won, lost, read } = await order(0)
        // The first round is a warm-up.
        if (round === 0) continue
        one.wins.push(((wins + won.length) * 1000) / (performance.now() - began))
        one.lost.push(...lost)
        one.read.push(...read)
      }
    }
  } finally {
    child.disconnect()
    await once(child, 'exit')
    await winner.close()
    remove()
  }
  const alone = seen[0]?.wins ?? []
  return seen.map(({ contenders, wins, lost, read }) => ({
    contenders,
    winsPerSecond: median(wins),
    timesUncontended: median(wins.map((one, round) => one / (alone[round] ?? NaN))),
    lose: contenders === 0 ? spread([]) : spread(lost),
    read: contenders === 0 ? spread([]) : spread(read),
  }))
}

async function winsUntil(end: number, win: () => Promise<boolean>): Promise<number> {
  let wins = 0
  while (performance.now() < end) if (await win()) wins++
  return wins
}

function spread(times: readonly number[]): Spread {
  return times.length === 0
    ? { median: null, p99: null }
    : { median: median(times), p99: quantile(times, 0.99) }
}
