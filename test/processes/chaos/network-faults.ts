import { setTimeout as sleep } from 'node:timers/promises'
import type { ChaosDatabase } from './chaos-database'
import type { Fault } from './fault'
import type { Random } from '../app/random'
import { LATEST_DELIVERY, type RequestAboutLock } from '../servers/tcp-proxy'

const needsNetwork = ({ proxy }: ChaosDatabase): string | undefined =>
  proxy ? undefined : 'an embedded database has no network'

/** Selects many requests of holders and few others: without holders there would be nothing to break. */
const isHit = ({ ofHolder }: RequestAboutLock, random: Random): boolean =>
  random.chance(ofHolder ? 0.4 : 0.05)

const cutBefore: Fault = {
  name: 'cut before the statement',
  missing: needsNetwork,
  inject: async ({ database, random }) => {
    database.proxy?.cutNext('before')
    await sleep(random.between(20, 300))
  },
}

const cutAfter: Fault = {
  name: 'cut after the statement',
  missing: needsNetwork,
  inject: async ({ database, random }) => {
    database.proxy?.cutNext('after')
    await sleep(random.between(20, 300))
  },
}

/** Delays requests, so that they arrive after later ones, often after the holder's time limit, and sometimes after its release. */
const requestDelayed: Fault = {
  name: 'request delayed',
  missing: needsNetwork,
  inject: async ({ database, random }) => {
    // Mostly short delays: what matters is a request that arrives while the lock is still held, or kept for lockAtLeastFor.
    const delay = (): number => 50 + (LATEST_DELIVERY - 50) * random.next() ** 2
    database.proxy?.holdBack((request) => (isHit(request, random) ? delay() : 0))
    await sleep(random.between(1_500, 4_000))
    database.proxy?.holdBack(undefined)
  },
}

/** Lets the server execute statements but loses their answers. The connection is cut at once, or only much later. */
const answerLost: Fault = {
  name: 'answer lost',
  missing: needsNetwork,
  inject: async ({ database, random }) => {
    const patience = (): number => (random.chance(0.5) ? 0 : random.between(500, LATEST_DELIVERY))
    database.proxy?.loseAnswers((request) => (isHit(request, random) ? patience() : undefined))
    await sleep(random.between(1_500, 4_000))
    database.proxy?.loseAnswers(undefined)
  },
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
  cutBefore,
  cutAfter,
  requestDelayed,
  answerLost,
  blackHole,
  slowNetwork,
  unlockCut,
]
