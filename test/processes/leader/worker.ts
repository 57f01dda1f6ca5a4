import { appendFileSync } from 'node:fs'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { leaderElection } from '../../../src/core/internal'
import { typeOrmLockProvider } from '../../../src/typeorm/internal'

export interface LeaderOrder {
  readonly typeOrm: DataSourceOptions
  readonly lockAtMostFor: number
  /** Where each claim to lead is a line: the token, and the time on the clock that all processes of the host share. */
  readonly claims: string
}

const order = JSON.parse(process.argv[2] ?? '') as LeaderOrder

async function main(): Promise<void> {
  const dataSource = await new DataSource(order.typeOrm).initialize()
  const { lockAtMostFor, claims } = order
  const configuration = { name: 'leader', lockAtMostFor, interval: lockAtMostFor / 10 }
  const election = leaderElection(typeOrmLockProvider(dataSource), configuration, {
    onElected: async (lock) => {
      const token = await lock.fencingToken()
      process.send?.({ token })
      while (!lock.signal.aborted) {
        // The time is read first: what is claimed afterwards was true then, too.
        const now = process.hrtime.bigint() / 1_000_000n
        if (election.isLeader()) appendFileSync(claims, `${token} ${now} ${process.pid}\n`)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    onError: (error) => process.send?.({ error: String(error) }),
  })
  process.once('SIGTERM', () => {
    void election.shutdown().then(() => process.exit(0))
  })
  process.send?.('ready')
}

void main()
