import { COMMON, number, oneOf, parse } from '../options'
import { ORMS } from './client'
import type { Cluster } from './cluster'
import { galera } from './galera'
import { groupReplication } from './group-replication'
import { mariaDbPair } from './mariadb-node'
import type { PairOptions } from './pair'
import { patroni } from './patroni'
import { pgBouncerPair } from './pgbouncer-pair'
import { postgresPair } from './postgres-node'

/** Starts each kind of cluster. */
export const CLUSTERS = {
  pair: postgresPair,
  'mariadb-pair': mariaDbPair,
  galera,
  'group-replication': groupReplication,
  patroni,
  pgbouncer: pgBouncerPair,
} as const satisfies Record<string, (options: PairOptions) => Promise<Cluster>>
const CLUSTER_NAMES = Object.keys(CLUSTERS) as (keyof typeof CLUSTERS)[]

export const USAGE = `npm run failover -- [--cluster ${CLUSTER_NAMES.join('|')}]... [--async] [--minutes 5] [--seed N]
  [--orm ${ORMS.join('|')}]... [--fault NAME]... [--keep FILE]
Without --cluster, runs the short form: a few faults of both pairs. --keep writes the events of the last run, which npm run judge reads.`

/** The short form, in which each fault occurs once. */
const SHORT = ['kill -9', 'planned switch', 'stale address']

export type FailoverOptions = Readonly<ReturnType<typeof parseOptions>>

export function parseOptions(args: readonly string[]) {
  const { values } = parse(args, {
    ...COMMON,
    cluster: { type: 'string', multiple: true },
    async: { type: 'boolean', default: false },
  })
  const { cluster, fault } = values
  const isShort = cluster === undefined
  return {
    clusters: (cluster ?? ['pair', 'mariadb-pair']).map(oneOf(CLUSTER_NAMES)),
    asynchronous: values.async,
    minutes: number(values.minutes ?? (isShort ? '0' : '5')),
    seed: number(values.seed),
    faults: isShort && fault.length === 0 ? SHORT : fault,
    orms: values.orm?.map(oneOf(ORMS)) ?? ORMS,
    keep: values.keep,
  }
}
