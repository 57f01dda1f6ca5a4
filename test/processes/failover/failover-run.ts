import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateClients } from '../../prisma/generate-clients'
import { AppProcess } from '../app/app-process'
import { JOBS, MINUTE } from '../app/jobs'
import { Random } from '../app/random'
import { monotonic, periodFromNow, type LockEvent, type Sample, type Segment } from '../history/events'
import { clientOptions, type Orm, type Settings } from './client'
import type { Cluster } from './cluster'

export interface RunOptions {
  readonly minutes: number
  readonly seed: number
  /** The faults to inject, in this order. If empty, all that the cluster has. */
  readonly faults: readonly string[]
  readonly orms: readonly Orm[]
  readonly settings: Settings
  /** The file for the events. */
  readonly keep?: string | undefined
  /** In milliseconds, how long to wait until every process has an answer. */
  readonly patience: number
}

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
  { minutes, seed, faults, orms, settings, patience }: RunOptions,
  log: (line: string) => void,
): Promise<LockEvent[]> {
  await generateClients()
  const random = new Random(seed)
  const directory = mkdtempSync(join(tmpdir(), 'shedlock-failover-'))
  const jobs = minutes < 3 ? JOBS : [...JOBS, MINUTE]
  const all: AppProcess[] = []
  const instances: AppProcess[] = []
  const stop = () => Promise.all(instances.map((instance) => instance.stop()))
  const start = (index: number, options: { port: number; address: number; orm: Orm }): void => {
    const { address, ...rest } = options
    const name = String(all.length)
    const worker = new AppProcess({
      ...{ process: name, file: join(directory, `${name}.jsonl`), seed: seed + all.length, address },
      ...clientOptions({ ...rest, dialect: cluster.dialect, max: POOL, settings }),
      work: { kind: 'jobs', jobs },
    })
    all.push(worker)
    instances[index] = worker
    void worker.exited().then(() => {
      if (!worker.isStopping && instances[index] === worker) start(index, options)
    })
  }
  const deploy = async (): Promise<void> => {
    await stop()
    const deployed = cluster.addresses.flatMap(({ port }, address) =>
      orms.map((orm) => ({ port, address, orm })),
    )
    for (const [index, options] of deployed.entries()) start(index, options)
    await Promise.all(instances.map((instance) => instance.ready()))
    const now = monotonic()
    await settled(() => instances, { since: cluster.addresses.map(() => now), patience })
  }
  const samples: Sample[] = []
  const sampling = sampleHeldRows(cluster, samples)
  const segments: Segment[] = []
  const inflict = async (fault: string): Promise<void> => {
    await sleep(random.between(500, 2_000))
    const { from, wallFrom } = periodFromNow()
    const reachable = cluster.addresses.map(() => Infinity)
    const opened = sum(cluster.addresses.map((address) => -address.opened))
    await cluster.faults[fault]?.(
      (address) => {
        for (const [index, virtual] of cluster.addresses.entries())
          if (address === undefined || virtual === address) reachable[index] = monotonic()
      },
      (host) => {
        for (const instance of instances) instance.send({ type: 'name leads to', host })
      },
    )
    await settled(() => instances, { since: reachable, patience })
    const connections = {
      opened: opened + sum(cluster.addresses.map((address) => address.opened)),
      left: sum(cluster.addresses.map(({ open }) => open)),
    }
    segments.push({
      ...{ type: 'segment', fault, from, to: monotonic(), wallFrom, wallTo: Date.now() },
      ...{ reachable, connections },
      ...(fault === 'one clock ahead' && { clockAhead: AHEAD }),
    })
    log(`${fault}: ${Math.round(monotonic() - from)} ms`)
  }
  const events: LockEvent[] = cluster.loses ? [{ type: 'loses writes' }] : []
  try {
    const end = monotonic() + minutes * 60_000
    const cycle = faultsOf(cluster, faults)
    do {
      await deploy()
      for (const fault of cycle) await inflict(fault)
    } while (monotonic() < end)
    // Wait for the answers to the last releases.
    await sleep(1_000)
  } catch (error) {
    // Report this, but also what was recorded before.
    events.push({ type: 'gave up', error: `the cluster did not recover: ${String(error)}` })
  } finally {
    await stop()
    clearInterval(sampling)
  }
  for (const instance of all) events.push(...instance.events())
  rmSync(directory, { recursive: true })
  return [...segments, ...samples, ...events]
}

/**
 * Returns one cycle of faults: each of the others is preceded by the cluster's first two, which are the most frequent in practice.
 */
function faultsOf(cluster: Cluster, requested: readonly string[]): string[] {
  const known = Object.keys(cluster.faults)
  for (const fault of requested)
    if (!known.includes(fault)) throw new Error(`'${fault}' is not one of the faults ${known.join(', ')}.`)
  if (requested.length > 0) return [...requested]
  const [kill = '', change = '', ...others] = known
  return others.flatMap((other) => [kill, change, other])
}

/** Waits until every process has got an answer and one has acquired a lock, or until the harness gives up. */
async function settled(
  current: () => readonly AppProcess[],
  { since, patience }: { since: readonly number[]; patience: number },
): Promise<void> {
  const has =
    (outcomes: readonly LockEvent['type'][]) =>
    (instance: AppProcess): boolean =>
      instance
        .events()
        .some(
          (event) =>
            'asked' in event &&
            outcomes.includes(event.type) &&
            event.asked >= (since[instance.plan.address ?? 0] ?? 0),
        )
  const isSettled = (): boolean =>
    current().every(has(['acquired', 'refused'])) && current().some(has(['acquired']))
  for (const end = monotonic() + patience; monotonic() < end && !isSettled();) await sleep(50)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

function sampleHeldRows(cluster: Cluster, samples: Sample[]): NodeJS.Timeout {
  let asking = false
  const sample = async (): Promise<void> => {
    if (asking) return
    asking = true
    const owners = await cluster.heldBy().catch(() => [])
    samples.push({ type: 'rows', at: monotonic(), owners })
    asking = false
  }
  return setInterval(() => void sample(), 250)
}
