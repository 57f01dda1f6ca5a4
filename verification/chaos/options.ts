import { BREAKS, type BreakName } from '../workers/breaks'
import { ormsOf } from '../workers/client'
import { COMMON, number, oneOf, parse } from '../options'
import { FAULTS } from './faults'
import { CHAOS_DIALECTS } from './words'

const BREAK_NAMES = Object.keys(BREAKS) as BreakName[]
export const USAGE = `npm run chaos -- --db ${CHAOS_DIALECTS.join('|')} [--url URL] [--minutes 10] [--seed N] [--workers 6]
  [--orm typeorm|prisma]... [--fault NAME]... [--break ${BREAK_NAMES.join('|')}] [--keep FILE]`

export type ChaosOptions = Readonly<ReturnType<typeof parseOptions>>

export function parseOptions(args: readonly string[]) {
  const { values } = parse(args, {
    ...COMMON,
    db: { type: 'string', default: 'postgres' },
    url: { type: 'string' },
    workers: { type: 'string', default: '6' },
    break: { type: 'string' },
  })
  const db = oneOf(CHAOS_DIALECTS)(values.db)
  return {
    db,
    /** The URL of an existing server. Default: the harness starts a server that faults may kill, if it can. */
    url: values.url,
    /** The faults to inject. If empty, all that are possible on the database. */
    faults: values.fault.map(oneOf(FAULTS.map(({ name }) => name))),
    keep: values.keep,
    minutes: number(values.minutes ?? '10'),
    seed: number(values.seed),
    workers: number(values.workers),
    orms: values.orm?.map(oneOf(ormsOf(db))) ?? ormsOf(db),
    broken: values.break === undefined ? undefined : oneOf(BREAK_NAMES)(values.break),
  }
}
