import { parseArgs } from 'node:util'
import { setImmediate as turn } from 'node:timers/promises'
import { LockError, type Lock, type LockProvider } from '../../../src/core/internal'
import { generateClients } from '../../prisma/generate-clients'
import { ORMS, openClient, ormsOf } from '../app/client'
import { Random } from '../app/random'
import { judge } from '../history/referee'
import { DATABASES, WITHOUT_URL } from './databases'

/** Acquires locks as fast as possible, and releases, extends or forgets them, until there have been enough acquisitions. */
const NAMES = Array.from({ length: 8 }, (_, index) => `job-${index}`)
const LOOPS = 16

interface Tally {
  acquisitions: number
  refusals: number
  late: number
  overlaps: number
}

class Fuzz {
  readonly tally: Tally = { acquisitions: 0, refusals: 0, late: 0, overlaps: 0 }
  readonly #holders = new Map<string, Lock>()

  constructor(
    private readonly provider: LockProvider,
    private readonly random: Random,
    private readonly enough: number,
  ) {}

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: LOOPS }, () => this.#loop()))
  }

  async #loop(): Promise<void> {
    while (this.tally.acquisitions < this.enough) {
      const name = this.random.pick(NAMES)
      const forgetful = this.random.chance(0.05)
      const lock = await this.provider
        .lock({ name, lockAtMostFor: forgetful ? 50 : 10_000 })
        .catch((error: unknown) => {
          this.#late(error)
        })
      if (lock) await this.#hold(lock, forgetful)
      else this.tally.refusals++
      await turn()
    }
  }

  /** On a busy machine a short lease may be over before its answer arrives. The result is an error and no lock. */
  #late(error: unknown): undefined {
    if (!(error instanceof LockError) || error.code !== 'TIMEOUT') throw error
    this.tally.late++
  }

  async #hold(lock: Lock, forgetful: boolean): Promise<void> {
    this.tally.acquisitions++
    const { name } = lock
    if ((this.#holders.get(name)?.remaining() ?? 0) > 0) this.tally.overlaps++
    this.#holders.set(name, lock)
    await turn()
    if (forgetful) return
    if (this.random.chance(0.1)) await lock.extend(10_000)
    if (this.#holders.get(name) !== lock) this.tally.overlaps++
    this.#holders.delete(name)
    await lock.unlock()
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      db: { type: 'string', multiple: true, default: [...WITHOUT_URL] },
      /** The URL of an existing server, if `db` is a single database. */
      url: { type: 'string' },
      orm: { type: 'string', multiple: true, default: [...ORMS] },
      acquisitions: { type: 'string', default: '100000' },
      seed: { type: 'string', default: '1' },
    },
  })
  await generateClients()
  for (const db of values.db) {
    for (const orm of ormsOf(db).filter((name) => values.orm.includes(name))) {
      const database = await DATABASES[db as keyof typeof DATABASES](NAMES, values.url)
      try {
        const connection = database.connection()
        const client = await openClient({ orm, connection, timeLimit: 30_000 })
        const fuzz = new Fuzz(client.provider, new Random(Number(values.seed)), Number(values.acquisitions))
        const begun = performance.now()
        await fuzz.run()
        const seconds = (performance.now() - begun) / 1_000
        await client.close()
        const findings = judge(await database.witness())
        const seenByDatabase = findings.filter(({ rule }) => rule === 'exclusion').length
        const tokensNotGrown = findings.filter(({ rule }) => rule === 'tokens').length
        console.log(
          JSON.stringify({
            database: database.version,
            orm,
            ...fuzz.tally,
            seenByDatabase,
            tokensNotGrown,
            seconds,
          }),
        )
        if (fuzz.tally.overlaps + seenByDatabase + tokensNotGrown > 0) process.exitCode = 1
      } finally {
        await database.close()
      }
    }
  }
}

void main()
