import { setTimeout as sleep } from 'node:timers/promises'
import type { ChaosDatabase } from './chaos-database'
import type { Fault } from './fault'
import type { Random } from '../app/random'
import { LATEST_DELIVERY, type RequestAboutLock, type TcpProxy } from '../servers/tcp-proxy'

const needsNetwork = ({ proxy }: ChaosDatabase): string | undefined =>
  proxy ? undefined : 'an embedded database has no network'

/** Selects many requests of holders and few others: without holders there would be nothing to break. */
const isHit = ({ ofHolder }: RequestAboutLock, random: Random): boolean =>
  random.chance(ofHolder ? 0.4 : 0.05)

type Choose = Parameters<TcpProxy['disturb']>[0]

/** Disturbs requests about locks for a while. */
const disturbed = (
  name: string,
  [least, most]: readonly [number, number],
  chooseBy: (random: Random) => Choose,
): Fault => ({
  name,
  missing: needsNetwork,
  inject: async ({ database, random }) => {
    const letBe = database.proxy?.disturb(chooseBy(random))
    await sleep(random.between(least, most))
    letBe?.()
  },
})

/** Disturbs only the next request. */
const once = (mishap: ReturnType<Choose>) => (): Choose => {
  let isOver = false
  return () => {
    if (isOver) return {}
    isOver = true
    return mishap
  }
}

const blackHole: Fault = {
  name: 'black hole',
  blocks: true,
  missing: needsNetwork,
  inject: async ({ database, random, lockAtMostFor }) => {
    database.proxy?.blackHole(true)
    await sleep(lockAtMostFor * random.between(0.5, 3))
    database.proxy?.blackHole(false)
  },
}

const slowNetwork: Fault = {
  name: 'slow network',
  blocks: true,
  missing: needsNetwork,
  inject: async ({ database, random }) => {
    database.proxy?.slowDown(random.between(50, 400))
    await sleep(random.between(1_000, 3_000))
    database.proxy?.slowDown(0)
  },
}

const unlockCut: Fault = {
  name: 'unlock fails: connections cut',
  missing: needsNetwork,
  inject: async ({ database, workers }) => {
    const worker = workers.any()
    worker.ambush('unlocking', 'report')
    await worker.whenReached(() => database.proxy?.cutAll())
  },
}

export const NETWORK_FAULTS: readonly Fault[] = [
  disturbed('cut before the statement', [20, 300], once({ cut: true })),
  disturbed('cut after the statement', [20, 300], once({ losesAnswerAfter: 0 })),
  // Requests arrive after later ones, often after the holder's time limit, and sometimes after its release. Mostly short delays: what
  // matters is a request that arrives while the lock is still held, or kept for lockAtLeastFor.
  disturbed(
    'request delayed',
    [1_500, 4_000],
    (random) => (request) =>
      isHit(request, random) ? { delay: 50 + (LATEST_DELIVERY - 50) * random.next() ** 2 } : {},
  ),
  // The server executes statements but their answers are lost. The connection is cut at once, or only much later.
  disturbed(
    'answer lost',
    [1_500, 4_000],
    (random) => (request) =>
      isHit(request, random)
        ? { losesAnswerAfter: random.chance(0.5) ? 0 : random.between(500, LATEST_DELIVERY) }
        : {},
  ),
  blackHole,
  slowNetwork,
  unlockCut,
]
