import { setTimeout as sleep } from 'node:timers/promises'
import { generateClients } from '../../test/prisma/generate-clients'
import type { AppProcess } from '../workers/app-process'
import { AppProcesses } from '../workers/app-processes'
import type { Orm } from '../workers/client'
import { JOBS, MINUTE } from '../workers/jobs'
import { Random } from '../workers/random'
import { beginPeriod, monotonic, type LockEvent, type Segment } from '../history/events'
import { oneOf } from '../options'
import { clientOptions } from './client'
import type { Cluster } from './cluster'

export interface RunOptions {
  readonly minutes: number
  readonly seed: number
  /** The faults to inject, in this order. If empty, all that the cluster has. */
  readonly faults: readonly string[]
  readonly orms: readonly Orm[]
}

/** In milliseconds, how long to wait until every process has an answer. */
const PATIENCE = 20_000
/** In milliseconds, by how much the new primary's clock is ahead after the fault of that name. */
const AHEAD = 2_000
/** The maximum size of each connection pool. */
const POOL = 5

/**
 * Lets processes of both ORMs run jobs on a cluster while its servers change their roles. From time to time, new processes replace
 * the old ones, as when an app is deployed.
 */
export async function failoverRun(
  cluster: Cluster,
  { minutes, seed, faults, orms }: RunOptions,
  log: (line: string) => void,
): Promise<LockEvent[]> {
  await generateClients()
  const random = new Random(seed)
  const { addresses, dialect } = cluster
  const processes = new AppProcesses(seed)
  const start = (place: number, address: number, port: number, orm: Orm): void => {
    const options = clientOptions({ orm, dialect, port, max: POOL })
    const work = { kind: 'jobs', jobs: minutes < 3 ? JOBS : [...JOBS, MINUTE] } as const
    const again = (): void => start(place, address, port, orm)
    processes.start({ address, ...options, work }, { place, again })
  }
  const deploy = async (): Promise<void> => {
    await processes.stop()
    for (const [address, { port }] of addresses.entries())
      for (const [index, orm] of orms.entries()) start(address * orms.length + index, address, port, orm)
    await processes.ready()
    const now = monotonic()
    await settled(
      processes.current,
      addresses.map(() => now),
    )
  }
  const inflict = async (fault: string): Promise<Segment> => {
    const ended = beginPeriod()
    const reachable = addresses.map(() => Infinity)
    await cluster.faults[fault]?.((reached) => {
      for (const [index, address] of addresses.entries())
        if (reached === undefined || address === reached) reachable[index] = monotonic()
    })
    await settled(processes.current, reachable)
    const clockAhead = fault === 'one clock ahead' ? AHEAD : 0
    return { type: 'segment', fault, ...ended(), reachable, clockAhead }
  }
  const events: LockEvent[] = cluster.loses ? [{ type: 'loses writes' }] : []
  const sampling = sampleHeldRows(cluster, events)
  try {
    const end = monotonic() + minutes * 60_000
    const cycle = faultsOf(cluster, faults)
    do {
      await deploy()
      for (const fault of cycle) {
        await sleep(random.between(500, 2_000))
        const segment = await inflict(fault)
        events.push(segment)
        log(`${fault}: ${Math.round(segment.to - segment.from)} ms`)
      }
    } while (monotonic() < end)
    // Wait for the answers to the last releases.
    await sleep(1_000)
  } catch (error) {
    // Report this, but also what was recorded before.
    events.push({ type: 'gave up', error: `the cluster did not recover: ${String(error)}` })
  } finally {
    await processes.stop()
    clearInterval(sampling)
  }
  events.push(...processes.events())
  await processes.close()
  return events
}

/**
 * Returns one cycle of faults: each of the others is preceded by the cluster's first two, which are the most frequent in practice.
 */
function faultsOf(cluster: Cluster, requested: readonly string[]): string[] {
  const known = Object.keys(cluster.faults)
  if (requested.length > 0) return requested.map(oneOf(known))
  const [kill = '', change = '', ...others] = known
  return others.flatMap((other) => [kill, change, other])
}

/** Waits until every process has got an answer and one has acquired a lock, or until the harness gives up. */
async function settled(current: readonly AppProcess[], since: readonly number[]): Promise<void> {
  const has =
    (...outcomes: LockEvent['type'][]) =>
    (process: AppProcess): boolean =>
      process.events().some((event) => {
        const from = since[process.plan.address ?? 0] ?? 0
        return 'asked' in event && outcomes.includes(event.type) && event.asked >= from
      })
  const isSettled = (): boolean => current.every(has('acquired', 'refused')) && current.some(has('acquired'))
  for (const end = monotonic() + PATIENCE; monotonic() < end && !isSettled();) await sleep(50)
}

function sampleHeldRows(cluster: Cluster, events: LockEvent[]): NodeJS.Timeout {
  let asking = false
  const sample = async (): Promise<void> => {
    if (asking) return
    asking = true
    const owners = await cluster.heldBy().catch(() => [])
    events.push({ type: 'rows', at: monotonic(), owners })
    asking = false
  }
  return setInterval(() => void sample(), 250)
}
