import { parseArgs } from 'node:util'
import { BREAKS, type BreakName } from '../app/breaks'
import { ormsOf, type Orm } from '../app/client'
import { CHAOS_DIALECTS, type ChaosDialect } from './words'

export interface ChaosOptions {
  readonly db: ChaosDialect
  /** The URL of an existing server. Default: the harness starts a server that faults may kill, if it can. */
  readonly url: string | undefined
  readonly minutes: number
  readonly seed: number
  readonly workers: number
  /** The faults to inject. If empty, all that are possible on the database. */
  readonly faults: readonly string[]
  readonly orms: readonly Orm[]
  readonly broken: BreakName | undefined
  readonly json: boolean
  /** The file for the whole history, from which a broken promise can be analysed. */
  readonly keep: string | undefined
}

const BREAK_NAMES = Object.keys(BREAKS) as BreakName[]
const USAGE = `npm run chaos -- --db ${CHAOS_DIALECTS.join('|')} [--url URL] [--minutes 10] [--seed N] [--workers 6]
  [--orm typeorm|prisma]... [--fault NAME]... [--break ${BREAK_NAMES.join('|')}] [--json] [--keep FILE]`

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
  const db = oneOf(CHAOS_DIALECTS, values.db)
  return {
    db,
    url: values.url,
    minutes: positive(values.minutes),
    seed: positive(values.seed),
    workers: positive(values.workers),
    faults: values.fault,
    orms: values.orm?.map((orm) => oneOf(ormsOf(db), orm)) ?? ormsOf(db),
    broken: values.break === undefined ? undefined : oneOf(BREAK_NAMES, values.break),
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
