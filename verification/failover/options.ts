import { COMMON, number, oneOf, parse } from '../options'
import { ORMS, SETTINGS, type Settings } from './client'
import type { Cluster } from './cluster'
import { galera } from './galera'
import { groupReplication } from './group-replication'
import { mariaDbPair } from './mariadb-node'
import type { PairOptions } from './pair'
import { patroni } from './patroni'
import { pgBouncerPair } from './pgbouncer-pair'
import { postgresPair } from './postgres-node'
import { singleServer } from './single-server'

/** Starts each kind of cluster. */
export const CLUSTERS = {
  pair: postgresPair,
  'mariadb-pair': mariaDbPair,
  galera,
  'group-replication': groupReplication,
  patroni,
} as const satisfies Record<string, (options: PairOptions) => Promise<Cluster>>
const CLUSTER_NAMES = Object.keys(CLUSTERS) as (keyof typeof CLUSTERS)[]

/** Starts each database whose connections can be harmed. */
export const DATABASES = {
  postgres: (_: Settings, outage: number) => singleServer('postgres', outage),
  mariadb: (_: Settings, outage: number) => singleServer('mariadb', outage),
  mysql: (_: Settings, outage: number) => singleServer('mysql', outage),
  pgbouncer: pgBouncerPair,
} as const satisfies Record<string, (settings: Settings, outage: number) => Promise<Cluster>>
const DATABASE_NAMES = Object.keys(DATABASES) as (keyof typeof DATABASES)[]

export const USAGE = `Servers that change their roles:
  npm run failover -- [--cluster ${CLUSTER_NAMES.join('|')}]... [--async] [--minutes N] [--seed N] [--fault NAME]...
  Without --cluster, runs the short form: a few faults of both pairs.

Servers that fall silent, refuse, or swallow connections, each alone:
  npm run failover -- --db ${DATABASE_NAMES.join('|')}... [--orm ${ORMS.join('|')}]...
    [--settings ${SETTINGS.join('|')}]... [--fault NAME]... [--outage SECONDS]
  Without --orm both, without --settings both, without --fault all.

--keep FILE writes the events of the last run, which npm run judge reads.`

/** The short form, in which each fault occurs once. */
const SHORT = ['kill -9', 'planned switch', 'stale address']

export type FailoverOptions = Readonly<ReturnType<typeof parseOptions>>

export function parseOptions(args: readonly string[]) {
  const { values } = parse(args, {
    ...COMMON,
    cluster: { type: 'string', multiple: true },
    db: { type: 'string', multiple: true, default: [] },
    async: { type: 'boolean', default: false },
    settings: { type: 'string', multiple: true, default: [...SETTINGS] },
    outage: { type: 'string', default: '2' },
  })
  const { cluster, db, fault } = values
  const isShort = cluster === undefined && db.length === 0
  return {
    clusters: (cluster ?? (isShort ? ['pair', 'mariadb-pair'] : [])).map(oneOf(CLUSTER_NAMES)),
    databases: db.map(oneOf(DATABASE_NAMES)),
    asynchronous: values.async,
    minutes: number(values.minutes ?? (isShort ? '0' : '5')),
    seed: number(values.seed),
    faults: isShort && fault.length === 0 ? SHORT : fault,
    orms: values.orm?.map(oneOf(ORMS)) ?? ORMS,
    settings: values.settings.map(oneOf(SETTINGS)),
    /** In milliseconds. */
    outage: number(values.outage) * 1_000,
    keep: values.keep,
  }
}
