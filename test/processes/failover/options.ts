import { parseArgs } from 'node:util'
import { ORMS, SETTINGS, type Orm, type Settings } from './client'
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

export interface FailoverOptions {
  readonly clusters: readonly (keyof typeof CLUSTERS)[]
  readonly databases: readonly (keyof typeof DATABASES)[]
  readonly asynchronous: boolean
  readonly minutes: number
  readonly seed: number
  readonly faults: readonly string[]
  readonly orms: readonly Orm[]
  readonly settings: readonly Settings[]
  /** In milliseconds. */
  readonly outage: number
  readonly json: boolean
  /** The file for the events of the last run, which `npm run judge` judges again. */
  readonly keep: string | undefined
}

export const USAGE = `Servers that change their roles:
  npm run failover -- [--cluster ${CLUSTER_NAMES.join('|')}]... [--async] [--minutes N] [--seed N] [--fault NAME]...
  Without --cluster, runs the short form: a few faults of both pairs.

Servers that fall silent, refuse, or swallow connections, each alone:
  npm run failover -- --db ${DATABASE_NAMES.join('|')}... [--orm ${ORMS.join('|')}]...
    [--settings ${SETTINGS.join('|')}]... [--fault NAME]... [--outage SECONDS]
  Without --orm both, without --settings 'default' and 'documented', without --fault all.

--json prints the figures as JSON, and --keep FILE writes the events, which npm run judge reads.`

/** The short form, in which each fault occurs once. */
const SHORT = {
  clusters: ['pair', 'mariadb-pair'],
  minutes: 0,
  faults: ['kill -9', 'planned switch', 'stale address'],
}

/** Thrown for arguments that are not understood. */
export class WrongUsage extends Error {}

/** @throws WrongUsage */
export function parseOptions(args: readonly string[]): FailoverOptions {
  const { values } = parse(args)
  const isShort = values.cluster === undefined
  return {
    clusters: values.db ? [] : (values.cluster ?? SHORT.clusters).map(oneOf(CLUSTER_NAMES)),
    databases: (values.db ?? []).map(oneOf(DATABASE_NAMES)),
    asynchronous: values.async,
    minutes: number(values.minutes ?? (isShort ? SHORT.minutes : 5)),
    seed: number(values.seed),
    faults: values.fault ?? (isShort && !values.db ? SHORT.faults : []),
    orms: values.orm?.map(oneOf(ORMS)) ?? ORMS,
    settings: values.settings?.map(oneOf(SETTINGS)) ?? ['default', 'documented'],
    outage: number(values.outage) * 1_000,
    json: values.json,
    keep: values.keep,
  }
}

function parse(args: readonly string[]) {
  try {
    const parsed = parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        cluster: { type: 'string', multiple: true },
        db: { type: 'string', multiple: true },
        async: { type: 'boolean', default: false },
        minutes: { type: 'string' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        fault: { type: 'string', multiple: true },
        orm: { type: 'string', multiple: true },
        settings: { type: 'string', multiple: true },
        outage: { type: 'string', default: '2' },
        json: { type: 'boolean', default: false },
        keep: { type: 'string' },
      },
    })
    if (parsed.values.help) throw new WrongUsage()
    return parsed
  } catch (error) {
    throw new WrongUsage((error as Error).message)
  }
}

const oneOf =
  <T extends string>(known: readonly T[]) =>
  (value: string): T => {
    const found = known.find((each) => each === value)
    if (found === undefined) throw new WrongUsage(`'${value}' is not one of ${known.join(', ')}.`)
    return found
  }

function number(value: string | number): number {
  const parsed = Number(value)
  if (!(parsed >= 0)) throw new WrongUsage(`'${value}' is not a number.`)
  return parsed
}
