import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ContenderOrder, ContenderReport } from './contender-process'
import { median, quantile } from './quantile'
import { openProvider, winAndRelease } from './open-provider'
import { location } from './raw-clients'

/** One lock taken and released without a pause by one process, while so many contenders of another ask for it. */
export interface Contention {
  readonly contenders: number
  /** How often the lock was taken and released, by whomever. */
  readonly winsPerSecond: number
  /** Compared with no contender, round by round: the median of the ratios. */
  readonly timesUncontended: number
  /** Of the contenders that heard "held". */
  readonly lose: Spread
  /** Of mere reads by the same contenders. */
  readonly read: Spread
}

/** In microseconds; null where there was nothing. */
export interface Spread {
  readonly median: number | null
  readonly p99: number | null
}

const CONTENDERS = [0, 1, 4, 16, 64]
/** Between two questions of one contender on average: jobs ask once in a minute, not ten times in a second. */
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
        // The first round is to warm up.
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
