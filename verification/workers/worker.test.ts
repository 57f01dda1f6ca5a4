import { expect } from '@jest/globals'
import { afterTest } from '../../test/after-test'
import { availableBackends, testBackends } from '../../test/backends'
import { migrated, openDatabase } from '../../test/backends/open-database'
import { eventually } from '../../test/eventually'
import { AppProcesses } from './app-processes'

const ASKING =
  "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"

testBackends(availableBackends('postgres'))(
  'a lock that is acquired only after its process was asked to stop counts as held until its release: $name',
  async (backend) => {
    const { database, dataSource } = await openDatabase(backend, migrated())
    const processes = new AppProcesses()
    afterTest(() => processes.close())
    const job = { name: 'job', every: 10, lockAtMostFor: '10m', runsFor: [0, 1] } as const
    const connection = { dialect: backend.dialect, url: database.url }
    const worker = processes.start({ orm: 'typeorm', connection, work: { kind: 'jobs', jobs: [job] } })
    await eventually(() => expect(worker.events().map(({ type }) => type)).toContain('ended'))
    let stopped = Promise.resolve()
    await dataSource.transaction(async (transaction) => {
      await transaction.query('lock table shedlock in access exclusive mode')
      await eventually(async () => expect(await dataSource.query(ASKING)).toHaveLength(1), { interval: 5 })
      stopped = worker.stop()
      // By the time the lock is acquired, the executor starts no more runs.
      await transaction.query('select pg_sleep(0.2)')
    })
    await stopped
    const events = worker.events()
    const acquired = events.filter(({ type }) => type === 'acquired')
    expect(events.filter(({ type }) => type === 'ended')).toHaveLength(acquired.length)
  },
)
