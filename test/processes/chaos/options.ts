import { parseArgs } from 'node:util'
import { BREAKS, type Break } from '../app/break-statements'
import { DATABASES } from './databases'
import { ormsOf, type Orm } from '../app/client'

export interface ChaosOptions {
  readonly db: keyof typeof DATABASES
  /** The URL of an existing server. Default: the harness starts a server that faults may kill, if it can. */
  readonly url: string | undefined
  readonly minutes: number
  readonly seed: number
  readonly workers: number
  /** The faults to inject. If empty, all that are possible on the database. */
  readonly faults: readonly string[]
  readonly orms: readonly Orm[]
  readonly broken: Break | undefined
  readonly json: boolean
  /** The file for the whole history, from which a broken promise can be analysed. */
  readonly keep: string | undefined
}

const KNOWN = Object.keys(DATABASES) as (keyof typeof DATABASES)[]
const USAGE = `npm run chaos -- --db ${KNOWN.join('|')} [--url URL] [--minutes 10] [--seed N] [--workers 6]
  [--orm typeorm|prisma]... [--fault NAME]... [--break ${BREAKS.join('|')}] [--json] [--keep FILE]`

export function parseOptions(args: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      db: { type: 'string', default: 'postgres' },
      url: { type: 'string' },
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      workers: { type: 'string', default: '6' },
      fault: { type: 'string', multiple: true, default: [] },
      orm: { type: 'string', multiple: true },
      break: { type: 'string' },
      json: { type: 'boolean', default: false },
      keep: { type: 'string' },
    },
  })
  const db = oneOf(KNOWN, values.db)
  return {
    db,
    url: values.url,
    minutes: positive(values.minutes),
    seed: positive(values.seed),
    workers: positive(values.workers),
    faults: values.fault,
    orms: values.orm?.map((orm) => oneOf(ormsOf(db), orm)) ?? ormsOf(db),
    broken: values.break === undefined ? undefined : oneOf(BREAKS, values.break),
    json: values.json,
    keep: values.keep,
  }
}

function oneOf<T extends string>(known: readonly T[], value: string): T {
  const found = known.find((option) => option === value)
  if (!found) throw new Error(`'${value}' is not one of ${known.join(', ')}.\n${USAGE}`)
  return found
}

function positive(value: string): number {
  const number = Number(value)
  if (!(number > 0)) throw new Error(`'${value}' is not a positive number.\n${USAGE}`)
  return number
}
