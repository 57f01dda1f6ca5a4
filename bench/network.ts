import { measure, type Measured } from './measure'
import { openTarget } from './targets'

/** Milliseconds that are added to a round trip: those of a server in the same room, and of one in another zone. */
const DELAYS = [1, 10]
const SCENARIOS: readonly string[] = ['read one row', 'lose', 'win + release']
const WHO = /^(raw driver(, our statements)?|ours: (TypeORM|Prisma)|verrou \(knex\)|Java ShedLock: JDBC)$/

export interface Network {
  readonly milliseconds: number
  readonly operations: readonly Measured[]
}

/** Measures the same locks over a slower network, on which round trips dominate. Nothing for a database in a file. */
export async function network(database: string, rounds: number, time: number): Promise<Network[]> {
  if (database === 'sqlite') return []
  const all: Network[] = []
  for (const milliseconds of DELAYS) {
    const target = await openTarget(database, { delay: milliseconds })
    const chosen = target.operations.filter(
      ({ scenario, who }) => SCENARIOS.includes(scenario) && WHO.test(who),
    )
    try {
      all.push({ milliseconds, operations: await measure(chosen, rounds, time) })
    } finally {
      await target.close()
    }
  }
  return all
}
