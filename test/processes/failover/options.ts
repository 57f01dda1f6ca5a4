import { parseArgs } from 'node:util'
import type { Cluster } from './cluster'
import { galera } from './galera'
import { groupReplication } from './group-replication'
import { mariaDbPair } from './mariadb-pair'
import type { PairOptions } from './pair'
import { patroni } from './patroni'
import { postgresPair } from './postgres-pair'

/** Starts each kind of cluster. */
export const CLUSTERS: Readonly<Record<string, (options: PairOptions) => Promise<Cluster>>> = {
  pair: postgresPair,
  'mariadb-pair': mariaDbPair,
  galera,
  'group-replication': groupReplication,
  patroni,
}

export interface FailoverOptions {
  readonly clusters: readonly string[]
  readonly asynchronous: boolean
  readonly minutes: number
  readonly seed: number
  readonly faults: readonly string[]
  readonly json: boolean
}

const USAGE = `npm run failover -- [--cluster ${Object.keys(CLUSTERS).join('|')}]... [--async] [--minutes N] [--seed N] [--fault NAME]... [--json]
  Without --cluster, runs the short form: a few faults of both pairs.`
/** The short form, in which each fault occurs once. */
const SHORT = {
  clusters: ['pair', 'mariadb-pair'],
  minutes: 0,
  faults: ['kill -9', 'planned switch', 'stale address'],
}

export function parseOptions(args: readonly string[]): FailoverOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      cluster: { type: 'string', multiple: true },
      async: { type: 'boolean', default: false },
      minutes: { type: 'string' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      fault: { type: 'string', multiple: true },
      json: { type: 'boolean', default: false },
    },
  })
  const isShort = values.cluster === undefined
  const clusters = values.cluster ?? SHORT.clusters
  for (const cluster of clusters)
    if (!(cluster in CLUSTERS)) throw new Error(`'${cluster}' is not a cluster.\n${USAGE}`)
  return {
    clusters,
    asynchronous: values.async,
    minutes: number(values.minutes ?? (isShort ? SHORT.minutes : 5)),
    seed: number(values.seed),
    faults: values.fault ?? (isShort ? SHORT.faults : []),
    json: values.json,
  }
}

function number(value: string | number): number {
  const parsed = Number(value)
  if (!(parsed >= 0)) throw new Error(`'${value}' is not a number.\n${USAGE}`)
  return parsed
}
