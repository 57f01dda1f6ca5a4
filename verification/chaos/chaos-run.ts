import { setTimeout as sleep } from 'node:timers/promises'
import { generateClients } from '../../test/prisma/generate-clients'
import { REVEALING } from '../workers/breaks'
import { openClient } from '../workers/client'
import { Random } from '../workers/random'
import { LONGEST_EXTENSION } from '../workers/random-work'
import { beginPeriod, monotonic, type LockEvent } from '../history/events'
import { LATEST_DELIVERY } from '../servers/network'
import { chaosDatabase, type ChaosDatabase } from './chaos-database'
import { FAULTS, type Fault, type Surroundings } from './faults'
import type { ChaosOptions } from './options'
import { LOCK_AT_MOST_FOR, NAMES, WorkerPool } from './worker-pool'

/** The share of the time in which faults are injected one kind at a time; in the rest they are mixed. */
const ALONE = 0.7

/**
 * Lets processes compete for locks while faults are injected, first each alone and then mixed. Returns what the processes and the
 * database recorded, and each fault that could not be injected here, with the reason.
 */
export async function chaosRun(options: ChaosOptions, log: (line: string) => void) {
  await generateClients()
  const random = new Random(options.seed)
  const database = await chaosDatabase(options.db, NAMES, options.url)
  const workers = new WorkerPool(database, random, options)
  const { faults, missing } = chooseFaults(options, database)
  const events: LockEvent[] = []
  try {
    await workers.ready()
    for (const [fault, chosen, duration] of planned(faults, options)) {
      log(`${fault} for ${(duration / 1_000).toFixed(0)} s`)
      const ended = beginPeriod()
      await injectAll(chosen, duration, { database, workers, random }, events, log)
      events.push({ type: 'segment', fault, ...ended() })
    }
    await workers.stop()
    events.push(...workers.events(), ...(await database.witness()), ...(await namesThatStayTaken(database)))
    return { version: database.version, missing, events }
  } finally {
    await workers.close()
    await database.close()
  }
}

type Planned = readonly [name: string, faults: readonly Fault[], milliseconds: number]

/** Plans each fault alone, and then all mixed. A segment without faults comes first, unless the library is broken on purpose. */
function planned(faults: readonly Fault[], { minutes, broken }: ChaosOptions): Planned[] {
  const alone = faults.map((fault) => [fault.name, [fault]] as const)
  const first = broken === undefined || faults.length === 0 ? [['none', []] as const, ...alone] : alone
  const all = minutes * 60_000
  const slice = (all * (faults.length > 1 ? ALONE : 1)) / first.length
  const plan: Planned[] = first.map(([name, chosen]) => [name, chosen, slice])
  return faults.length > 1 ? [...plan, ['mixed', faults, all * (1 - ALONE)]] : plan
}

function chooseFaults(
  { faults: requested, broken }: ChaosOptions,
  database: ChaosDatabase,
): { faults: Fault[]; missing: Record<string, string> } {
  const names = requested.length > 0 || broken === undefined ? requested : REVEALING[broken]
  const chosen = names.length > 0 ? FAULTS.filter(({ name }) => names.includes(name)) : FAULTS
  const missing: Record<string, string> = {}
  const faults = chosen.filter((fault) => {
    const why = fault.missing?.(database)
    if (why !== undefined) missing[fault.name] = why
    return why === undefined
  })
  return { faults, missing }
}

/** Injects these faults again and again, and records when. */
async function injectAll(
  faults: readonly Fault[],
  duration: number,
  surroundings: Surroundings,
  events: LockEvent[],
  log: (line: string) => void,
): Promise<void> {
  const end = monotonic() + duration
  // Inject two faults at a time if there are several, so that they overlap.
  const hands = faults.length > 1 ? 2 : 1
  const busy = new Set<Fault>()
  const work = async (): Promise<void> => {
    while (monotonic() < end) {
      const free = faults.filter((fault) => !busy.has(fault) && compatible(fault, busy))
      if (free.length === 0) {
        await sleep(100)
        continue
      }
      const chosen = surroundings.random.pick(free)
      const { name: fault, blocks = false, destroys = false } = chosen
      busy.add(chosen)
      const ended = beginPeriod()
      try {
        await chosen.inject(surroundings)
      } catch (error) {
        log(`${fault} could not be injected: ${String(error)}`)
      } finally {
        // Record a failed injection too: it may have taken effect.
        events.push({ type: 'fault', fault, ...ended(), blocks, destroys })
        busy.delete(chosen)
      }
      await sleep(surroundings.random.between(100, 700))
    }
  }
  await Promise.all(Array.from({ length: hands }, work))
}

/** Two faults that break or query the server would interfere, so only one of them may be active. */
function compatible(fault: Fault, busy: ReadonlySet<Fault>): boolean {
  const ofServer = ({ blocks, destroys }: Fault): boolean => blocks === true || destroys === true
  return !ofServer(fault) || ![...busy].some(ofServer)
}

/** Returns the locks that cannot be acquired after all processes have stopped and all leases are over. */
async function namesThatStayTaken(database: ChaosDatabase): Promise<LockEvent[]> {
  await sleep(LATEST_DELIVERY + LOCK_AT_MOST_FOR * (LONGEST_EXTENSION + 1))
  const client = await openClient({ orm: 'typeorm', connection: database.connection(), timeLimit: 5_000 })
  try {
    const taken: LockEvent[] = []
    for (const name of NAMES) {
      const lock = await client.provider
        .lock({ name, lockAtMostFor: LOCK_AT_MOST_FOR })
        .catch(() => undefined)
      if (!lock) taken.push({ type: 'never free', name })
      await lock?.unlock()
    }
    return taken
  } finally {
    await client.close()
  }
}
