import { once } from 'node:events'
import { fork } from 'node:child_process'
import { join } from 'node:path'
import type { ContenderOrder, ContenderReport } from './contender-process'
import { middle } from './measure'
import { openProvider, winAndRelease } from './open-provider'
import { location } from './raw-clients'

/** One lock taken and released without a pause by one process, while so many contenders of another ask for it. */
export interface Contention {
  readonly contenders: number
  /** How often the lock was taken and released, by whomever. */
  readonly winsPerSecond: number
  /** Of the contenders that heard "held", in microseconds; null without contenders. */
  readonly loserMedian: number | null
  readonly loserP99: number | null
}

const CONTENDERS = [0, 1, 4, 16, 64]
/** How long each contender pauses on average, in milliseconds: jobs ask once in a minute, not ten times in a second. */
const PAUSE = 100

export async function contention(database: string, rounds: number, time: number): Promise<Contention[]> {
  const { url, remove } = location(database)
  const winner = await openProvider(database, url, 1, { expired: ['contended'] })
  const child = fork(join(__dirname, 'contender-process.ts'), [
    database,
    url,
    String(Math.max(...CONTENDERS)),
  ])
  const answer = async (order: ContenderOrder): Promise<ContenderReport> => {
    const answered = once(child, 'message')
    child.send(order)
    return (await answered)[0] as ContenderReport
  }
  const seen = CONTENDERS.map((contenders) => ({ contenders, wins: [0], lost: [] as number[] }))
  try {
    await once(child, 'message')
    for (let round = 0; round <= rounds; round++) {
      for (const one of seen) {
        await answer({ contenders: one.contenders, pause: PAUSE })
        const began = performance.now()
        const wins = await winsUntil(began + time, () => winAndRelease(winner.provider, 'contended'))
        const { won, lost } = await answer({ contenders: 0, pause: PAUSE })
        const seconds = (performance.now() - began) / 1000
        // The first round is to warm up.
        if (round === 0) continue
        one.wins.push((wins + won) / seconds)
        one.lost.push(...lost)
      }
    }
  } finally {
    child.disconnect()
    await once(child, 'exit')
    await winner.close()
    remove()
  }
  return seen.map(({ contenders, wins, lost }) => {
    const sorted = lost.toSorted((a, b) => a - b)
    return {
      contenders,
      winsPerSecond: middle(wins.slice(1).toSorted((a, b) => a - b)),
      loserMedian: sorted.length > 0 ? middle(sorted) : null,
      loserP99: sorted[Math.floor(sorted.length * 0.99)] ?? null,
    }
  })
}

async function winsUntil(end: number, win: () => Promise<boolean>): Promise<number> {
  let wins = 0
  while (performance.now() < end) if (await win()) wins++
  return wins
}
