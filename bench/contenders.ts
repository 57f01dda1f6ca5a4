import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ContenderOrder, ContenderReport } from './contender-process'
import { asMany } from './fraction'
import { median, quantile } from './quantile'
import { openProvider, winAndRelease } from './open-provider'
import { location } from './raw-clients'

/**
 * The results for one lock that one process acquires and releases continuously while contenders try to acquire it. They share another
 * process, but each is an instance of its own, with a client of its own.
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

/** The medians of the rounds' medians and 99th percentiles, in microseconds; null if there was nothing to measure. */
export interface Spread {
  readonly median: number | null
  readonly p99: number | null
}

const CONTENDERS = [0, 1, asMany(4), asMany(16), asMany(64)]
/** In milliseconds, the average interval between two attempts of one contender. Real jobs try once a minute, not ten times a second. */
const PAUSE = 100
/** If there are fewer, they try as often as these, so that a round has a 99th percentile. */
const FEW = 16

export async function contention(database: string, rounds: number, time: number): Promise<Contention[]> {
  const { url, remove } = location(database)
  const winner = await openProvider(database, url, 1, { make: { expired: ['contended'] } })
  const child = fork(join(__dirname, 'contender-process.ts'), [
    database,
    url,
    String(Math.max(...CONTENDERS)),
  ])
  const order = async (contenders: number): Promise<ContenderReport> => {
    const answered = once(child, 'message')
    child.send({ contenders, pause: (PAUSE * Math.min(contenders, FEW)) / FEW } satisfies ContenderOrder)
    return (await answered)[0] as ContenderReport
  }
  const seen = CONTENDERS.map((contenders) => ({
    contenders,
    wins: [] as number[],
    lost: [] as number[][],
    read: [] as number[][],
  }))
  try {
    await once(child, 'message')
    for (let round = 0; round <= rounds; round++) {
      for (const one of seen) {
        await order(one.contenders)
        const began = performance.now()
        const wins = await winsUntil(began + time, () => winAndRelease(winner.provider, 'contended'))
        const took = performance.now() - began
        const { won, lost, read } = await order(0)
        // The first round is a warm-up.
        if (round === 0) continue
        one.wins.push(((wins + won.length) * 1000) / took)
        one.lost.push(lost)
        one.read.push(read)
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
    lose: spread(lost),
    read: spread(read),
  }))
}

async function winsUntil(end: number, win: () => Promise<boolean>): Promise<number> {
  let wins = 0
  while (performance.now() < end) if (await win()) wins++
  return wins
}

function spread(rounds: readonly (readonly number[])[]): Spread {
  const measured = rounds.filter((times) => times.length > 0)
  if (measured.length === 0) return { median: null, p99: null }
  return { median: median(measured.map(median)), p99: median(measured.map((times) => quantile(times, 0.99))) }
}
