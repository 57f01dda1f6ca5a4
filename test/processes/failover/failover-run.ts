import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateClients } from '../../prisma/generate-clients'
import { Random } from '../chaos/random'
import { program } from '../program'
import type { Orm, Settings } from './client'
import type { Cluster } from './cluster'
import { monotonic, type History, type Sample, type Segment } from './history'
import { InstanceProcess } from './instance'
import { JOBS, MINUTE } from './jobs'

export interface RunOptions {
  readonly minutes: number
  readonly seed: number
  /** The faults to inject, in this order. If empty, all that the cluster has. */
  readonly faults: readonly string[]
  readonly orms: readonly Orm[]
  readonly settings: Settings
  /** In milliseconds, how long to wait until every process has an answer. */
  readonly patience: number
}

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
      { ...rest, dialect: cluster.dialect, max: POOL, settings, jobs },
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
    const from = monotonic()
    const reachable = cluster.addresses.map(() => Infinity)
    const opened = sum(cluster.addresses.map((address) => -address.opened))
    await cluster.faults[fault]?.(
      (address) => {
        for (const [index, virtual] of cluster.addresses.entries())
          if (address === undefined || virtual === address) reachable[index] = monotonic()
      },
      (host) => {
        for (const instance of instances) instance.order({ nameLeadsTo: host })
      },
    )
    await settled(() => instances, { since: reachable, patience })
    const connections = {
      opened: opened + sum(cluster.addresses.map((address) => address.opened)),
      left: sum(cluster.addresses.map(({ open }) => open)),
    }
    segments.push({ fault, from, to: monotonic(), reachable, connections })
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
  const known = Object.keys(cluster.faults)
  for (const fault of requested)
    if (!known.includes(fault)) throw new Error(`'${fault}' is not one of the faults ${known.join(', ')}.`)
  if (requested.length > 0) return [...requested]
  const [kill = '', change = '', ...others] = known
  return others.flatMap((other) => [kill, change, other])
}

/** Waits until every process has got an answer and one has acquired a lock, or until the harness gives up. */
async function settled(
  current: () => readonly InstanceProcess[],
  { since, patience }: { since: readonly number[]; patience: number },
): Promise<void> {
  const has = (outcomes: readonly unknown[]) => (instance: InstanceProcess) =>
    instance.firstSince(since[instance.address] ?? 0, outcomes) !== undefined
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
    const rows = await cluster.heldRows().catch(() => [])
    samples.push({ at: monotonic(), owners: rows.map(({ lockedBy }) => lockedBy) })
    asking = false
  }
  return setInterval(() => void sample(), 250)
}
