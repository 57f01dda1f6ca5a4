import { setTimeout as sleep } from 'node:timers/promises'
import { PATIENCE } from '../workers/app-process'
import { PHASES, type Phase } from '../workers/phases'
import type { Random } from '../workers/random'
import { canFakeTime } from '../../test/processes/fake-time'
import { LATEST_DELIVERY, type Network, type RequestAboutLock } from '../servers/network'
import type { ChaosDatabase } from './chaos-database'
import { LOCK_AT_MOST_FOR, TIME_LIMIT, type WorkerPool, type WorkerWishes } from './worker-pool'

/** What a fault may manipulate. */
export interface Surroundings {
  readonly database: ChaosDatabase
  readonly workers: WorkerPool
  readonly random: Random
}

export interface Fault {
  readonly name: string
  /** Whether no process can acquire a lock while the fault lasts. */
  readonly blocks?: boolean
  /** Whether the fault destroys rows of held locks. */
  readonly destroys?: boolean
  /** Returns why the fault cannot be injected into this database; `undefined` if it can. */
  missing?(database: ChaosDatabase): string | undefined
  inject(surroundings: Surroundings): Promise<void>
}

const ASLEEP: readonly Phase[] = [
  'checked',
  'checked-guarded',
  'acquired',
  'working',
  'in-transaction',
  'guarded',
  'asking',
]

const NO_OWN_SERVER = 'it needs a server that the harness started'
const TABLE_IN_PEACE = 'the harness does not change the table there'
const NO_NETWORK = 'an embedded database has no network'

const unless = (why: string, isPossible: (database: ChaosDatabase) => unknown): Pick<Fault, 'missing'> => ({
  missing: (database) => (isPossible(database) ? undefined : why),
})

/** A fault that lasts for a while, for which the database has a method. */
function during(name: string, method: Extract<keyof ChaosDatabase, `with${string}`>, why: string): Fault {
  return {
    ...{ name, blocks: true, ...unless(why, (database) => method in database) },
    inject: async ({ database, random }) => {
      await database[method]?.(() => sleep(random.between(200, 2_500)))
    },
  }
}

/** A fault that destroys the rows, for which the database has a method. */
function destroying(name: string, method: 'deleteRows' | 'truncate' | 'dropAndCreate'): Fault {
  return {
    ...{ name, destroys: true, ...unless(TABLE_IN_PEACE, (database) => method in database) },
    inject: async ({ database }) => database[method]?.(),
  }
}

/** Stops a process in one of these phases for so many times the lease. */
function paused(name: string, phases: readonly Phase[], least: number, most: number): Fault {
  return {
    name,
    inject: async ({ workers, random }) => {
      const worker = workers.any()
      worker.ambush(random.pick(phases), 'stop')
      await worker.wakeAfter(LOCK_AT_MOST_FOR * random.between(least, most))
    },
  }
}

/** Replaces a process by one with other settings. */
function replaced(name: string, missing: Fault['missing'], wishes: (random: Random) => WorkerWishes): Fault {
  return {
    name,
    ...(missing && { missing }),
    inject: async ({ workers, random }) => {
      await workers.replace(wishes(random))
      await sleep(1_500)
    },
  }
}

/** Does something to the network for a while. */
function networked(
  name: string,
  [least, most]: readonly [number, number],
  disturb: (proxy: Network, random: Random) => () => void,
  blocks = false,
): Fault {
  return {
    ...{ name, blocks, ...unless(NO_NETWORK, ({ proxy }) => proxy) },
    inject: async ({ database, random }) => {
      const letBe = database.proxy && disturb(database.proxy, random)
      await sleep(random.between(least, most))
      letBe?.()
    },
  }
}

/** Selects many requests of holders and few others: without holders there would be nothing to break. */
const isHit = ({ ofHolder }: RequestAboutLock, random: Random): boolean =>
  random.chance(ofHolder ? 0.4 : 0.05)

/** Disturbs only the next request. */
const once = (mishap: ReturnType<Parameters<Network['disturb']>[0]>) => (proxy: Network) => {
  let isOver = false
  return proxy.disturb(() => {
    if (isOver) return {}
    isOver = true
    return mishap
  })
}

export const FAULTS: readonly Fault[] = [
  {
    name: 'kill -9',
    inject: async ({ workers, random }) => {
      const worker = workers.any()
      worker.ambush(random.pick(PHASES), 'kill')
      await Promise.race([worker.exited(), sleep(PATIENCE)])
    },
  },
  paused('pause beyond the lease', ASLEEP, 1.2, 3),
  // Only the guard can detect this.
  paused('pause before a guarded commit', ['checked-guarded'], 1.5, 4),
  {
    name: 'event loop blocked',
    inject: async ({ workers, random }) => {
      const milliseconds = LOCK_AT_MOST_FOR * random.between(1.1, 2)
      workers.any().ambush(random.pick(ASLEEP), 'block', milliseconds)
      await sleep(milliseconds)
    },
  },
  networked('cut before the statement', [20, 300], once({ cut: true })),
  networked('cut after the statement', [20, 300], once({ losesAnswerAfter: 0 })),
  // Requests arrive after later ones, often after the holder's time limit, and sometimes after its release. Mostly short delays: what
  // matters is a request that arrives while the lock is still held, or kept for lockAtLeastFor.
  networked('request delayed', [1_500, 4_000], (proxy, random) =>
    proxy.disturb((request) =>
      isHit(request, random) ? { delay: 50 + (LATEST_DELIVERY - 50) * random.next() ** 2 } : {},
    ),
  ),
  // The server executes statements but their answers are lost. The connection is cut at once, or only much later.
  networked('answer lost', [1_500, 4_000], (proxy, random) =>
    proxy.disturb((request) =>
      isHit(request, random)
        ? { losesAnswerAfter: random.chance(0.5) ? 0 : random.between(500, LATEST_DELIVERY) }
        : {},
    ),
  ),
  networked(
    'black hole',
    [400, 2_400],
    (proxy) => {
      proxy.blackHole(true)
      return () => proxy.blackHole(false)
    },
    true,
  ),
  networked(
    'slow network',
    [1_000, 3_000],
    (proxy, random) => {
      proxy.slowDown(random.between(50, 400))
      return () => proxy.slowDown(0)
    },
    true,
  ),
  {
    ...{ name: 'unlock fails: connections cut', ...unless(NO_NETWORK, ({ proxy }) => proxy) },
    inject: async ({ database, workers }) => {
      const worker = workers.any()
      worker.ambush('unlocking', 'report')
      await worker.whenReached(() => database.proxy?.cutAll())
    },
  },
  {
    ...{
      name: 'server restarted',
      blocks: true,
      ...unless(NO_OWN_SERVER, (database) => 'restart' in database),
    },
    inject: async ({ database }) => database.restart?.(),
  },
  during('read-only', 'withReadOnly', NO_OWN_SERVER),
  during('recovery', 'withRecovery', 'only a PostgreSQL that the harness started has it'),
  {
    name: 'pool exhausted',
    ...unless('an embedded database has no pool', ({ dialect }) => dialect !== 'sqlite'),
    inject: async ({ workers, random }) => {
      const milliseconds = TIME_LIMIT * random.between(0.5, 2)
      workers.any().send({ type: 'exhaust', connections: 5, milliseconds })
      await sleep(milliseconds)
    },
  },
  during(
    'disk full',
    'withDiskFull',
    'it needs a server that the harness started, and the right to mount a small disk',
  ),
  during('table locked', 'withTableLocked', TABLE_IN_PEACE),
  during('table altered', 'withTableAltered', "on other databases it would be the same as 'table locked'"),
  destroying('rows deleted', 'deleteRows'),
  destroying('table truncated', 'truncate'),
  destroying('table dropped and created again', 'dropAndCreate'),
  replaced(
    'clocks hours apart',
    ({ dialect }) => {
      if (dialect === 'sqlite') return "an embedded database uses the process's own clock"
      return canFakeTime ? undefined : 'libfaketime is not installed'
    },
    (random) => ({ clock: random.pick(['+3h', '-5h', '+40d']) }),
  ),
  replaced(
    'serializable',
    ({ wishes }) =>
      wishes.includes('serializable') ? undefined : 'its connections cannot be made serializable',
    () => ({ serializable: true }),
  ),
  replaced(
    'PgBouncer in transaction mode',
    ({ wishes }) =>
      wishes.includes('pooler') ? undefined : 'it needs PostgreSQL and PgBouncer on this machine',
    () => ({ pooler: true }),
  ),
  {
    ...{ name: 'unlock fails: table locked', blocks: true },
    ...unless(TABLE_IN_PEACE, (database) => 'withTableLocked' in database),
    inject: async ({ database, workers }) => {
      const worker = workers.any()
      worker.ambush('unlocking', 'report')
      let locked = Promise.resolve()
      // The process continues when the table is locked.
      const lock = (): Promise<void> =>
        new Promise((resolve) => {
          const whileLocked = (): Promise<void> => {
            resolve()
            return sleep(TIME_LIMIT * 1.2)
          }
          locked = database.withTableLocked?.(whileLocked) ?? locked
          locked.catch(() => resolve())
        })
      await worker.whenReached(lock)
      await locked
    },
  },
  during('unlock fails: no privilege', 'withoutPrivileges', 'locks have no database role of their own there'),
]
