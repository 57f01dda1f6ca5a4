import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateClients } from '../../prisma/generate-clients'
import { Random } from '../chaos/random'
import { program } from '../program'
import { ORMS, type Orm } from './client'
import type { Cluster } from './cluster'
import { monotonic, type History, type Sample, type Segment } from './history'
import { InstanceProcess } from './instance'
import { JOBS, MINUTE } from './jobs'

export interface RunOptions {
  readonly minutes: number
  readonly seed: number
  /** The faults to inject, in this order. If empty, all that the cluster has. */
  readonly faults: readonly string[]
}

/** The maximum size of each connection pool. */
const POOL = 5
/** In milliseconds, how long the harness waits for a process to get an answer. */
const PATIENCE = 20_000

/**
 * Lets processes of both ORMs run jobs on a cluster while its servers change their roles. From time to time, new processes replace
 * the old ones, as when an app is deployed.
 */
export async function failoverRun(
  cluster: Cluster,
  { minutes, seed, faults }: RunOptions,
  log: (line: string) => void,
): Promise<History> {
  await generateClients()
  const random = new Random(seed)
  const file = program(join(__dirname, 'worker.ts'))
  const jobs = minutes < 3 ? JOBS : [...JOBS, MINUTE]
  const all: InstanceProcess[] = []
  const instances: InstanceProcess[] = []
  const stop = () => Promise.all(instances.map((instance) => instance.stop()))
  const start = (index: number, options: { port: number; address: number; orm: Orm }): void => {
    const { address, ...rest } = options
    const worker = new InstanceProcess(
      file,
      address,
      { ...rest, dialect: cluster.dialect, max: POOL, jobs },
      () => {
        if (instances[index] === worker) start(index, options)
      },
    )
    all.push(worker)
    instances[index] = worker
  }
  const deploy = async (): Promise<void> => {
    await stop()
    const deployed = cluster.addresses.flatMap(({ port }, address) =>
      ORMS.map((orm) => ({ port, address, orm })),
    )
    for (const [index, settings] of deployed.entries()) start(index, settings)
    await Promise.all(instances.map((instance) => instance.ready()))
    const now = monotonic()
    await settled(
      () => instances,
      cluster.addresses.map(() => now),
    )
  }
  const samples: Sample[] = []
  const sampling = sampleHeldRows(cluster, samples)
  const segments: Segment[] = []
  const inflict = async (fault: string): Promise<void> => {
    await sleep(random.between(500, 2_000))
    const from = monotonic()
    const reachable = cluster.addresses.map(() => Infinity)
    await cluster.faults[fault]?.((address) => {
      for (const [index, virtual] of cluster.addresses.entries())
        if (address === undefined || virtual === address) reachable[index] = monotonic()
    })
    await settled(() => instances, reachable)
    segments.push({ fault, from, to: monotonic(), reachable })
    log(`${fault}: ${Math.round(monotonic() - from)} ms`)
  }
  let broken: string | undefined
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
    broken = `the cluster did not recover: ${String(error)}`
  } finally {
    await stop()
    clearInterval(sampling)
  }
  return { instances: all, segments, samples, crashes: all.flatMap(({ crash }) => crash ?? []), broken }
}

/**
 * Returns one cycle of faults: each of the others is preceded by the cluster's first two, which are the most frequent in practice.
 */
function faultsOf(cluster: Cluster, requested: readonly string[]): string[] {
  if (requested.length > 0) return [...requested]
  const [kill = '', change = '', ...others] = Object.keys(cluster.faults)
  return others.flatMap((other) => [kill, change, other])
}

/** Waits until every process has got an answer and one has acquired a lock, or until the harness gives up. */
async function settled(current: () => readonly InstanceProcess[], since: readonly number[]): Promise<void> {
  const has = (outcomes: readonly unknown[]) => (instance: InstanceProcess) =>
    instance.firstSince(since[instance.address] ?? 0, outcomes) !== undefined
  const isSettled = (): boolean =>
    current().every(has(['acquired', 'refused'])) && current().some(has(['acquired']))
  for (const end = monotonic() + PATIENCE; monotonic() < end && !isSettled();) await sleep(50)
}

function sampleHeldRows(cluster: Cluster, samples: Sample[]): NodeJS.Timeout {
  let asking = false
  const sample = async (): Promise<void> => {
    if (asking) return
    asking = true
    const rows = await cluster.heldRows().catch(() => [])
    samples.push({ at: monotonic(), owners: rows.map(({ lockedBy }) => lockedBy) })
    asking = false
  }
  return setInterval(() => void sample(), 250)
}
