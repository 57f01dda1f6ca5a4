import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import { executeOnce } from '../../src/core/internal'
import { type SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { itIf } from '../it-if'
import { Log } from '../typeorm/log'
import { JAVA_TABLES } from './table-faults'

const SLOT = Date.UTC(2026, 10, 21, 10)

describeBackends(availableBackends())('finding locks on $name', (backend) => {
  let log: Log
  let dataSource: DataSource
  let provider: SqlLockProvider

  beforeEach(async () => {
    log = new Log(['query'])
    ;({ dataSource } = await openDatabase(backend, { logging: ['query'], logger: log }))
    provider = typeOrmLockProvider(dataSource, { lockedBy: 'host-1/42' })
  })

  it('finds one lock by its name, held or not, and none that was never acquired', async () => {
    await provider.table.create()
    const free = await provider.lock({ name: 'free', lockAtMostFor: '1m' })
    await free?.unlock()
    await provider.lock({ name: "o'clock", lockAtMostFor: '1m' })
    const [first, second] = await provider.table.list()
    expect(await provider.table.find('free')).toEqual({ ...first, now: expect.any(Date) })
    expect(await provider.table.find("o'clock")).toEqual({ ...second, now: expect.any(Date) })
    expect(await provider.table.find('Free')).toBeUndefined()
    expect(await provider.table.find('')).toBeUndefined()
  })

  it('reads the whole table only for all locks', async () => {
    await provider.table.create()
    await provider.table.pause('job', { duration: '1h', reason: 'r' })
    log.seen.length = 0
    expect(await provider.table.overdue({ job: '1h', other: '1h' })).toHaveLength(1)
    expect(await provider.table.resume('job')).toBe(true)
    expect((await executeOnce(provider, { name: 'once', slot: SLOT }, () => undefined)).executed).toBe(true)
    const reads = log.seen.filter((statement) => /^query: select .*lock_name/i.test(statement))
    if (backend.dialect !== 'sqlite') expect(reads).toHaveLength(3)
    expect(reads.filter((statement) => !/ (where|on) .?name.? (=|in) /i.test(statement))).toEqual([])
  })

  it('reads one lock after another to see whether they are overdue', async () => {
    await provider.table.create()
    const names = Array.from({ length: 23 }, (_, number) => `job-${number}`)
    for (const name of names.slice(1)) await (await provider.lock({ name, lockAtMostFor: '1m' }))?.unlock()
    log.seen.length = 0
    expect(await provider.table.overdue(Object.fromEntries(names.map((name) => [name, '1h'])))).toEqual([
      { name: 'job-0', overdueAfter: 3_600_000, reason: 'late' },
    ])
    if (backend.dialect !== 'sqlite') expect(log.seen).toHaveLength(names.length)
  })

  itIf(['mysql', 'mariadb'].includes(backend.dialect), 'a collation that ignores case')(
    'finds a lock in any spelling that the database takes for its name',
    async () => {
      await dataSource.query(JAVA_TABLES.mysql ?? '')
      await (await provider.lock({ name: 'report', lockAtMostFor: '1m' }))?.unlock()
      expect(await provider.table.find('Report')).toMatchObject({ name: 'report', held: false })
      expect(await provider.table.overdue({ REPORT: '1h', other: '1h', report: '1h' })).toMatchObject([
        { name: 'other' },
      ])
      expect(await provider.table.pause('Report', { duration: '1h', reason: 'r' })).toBe(true)
      expect(await provider.table.find('report')).toMatchObject({ name: 'report', paused: true })
      expect(await provider.table.resume('rePort')).toBe(true)
      const migrate = (name: string) => executeOnce(provider, { name, slot: SLOT }, () => 'done')
      expect((await migrate('migrate')).executed).toBe(true)
      expect((await migrate('Migrate')).executed).toBe(false)
    },
  )
})
