import type { DataSource } from 'typeorm'
import { beforeEach, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { executeOnce } from '../../src/core/execute-once'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import type { LockRecord } from '../../src/sql/internal'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { eventually } from '../eventually'
import { itIf, itOn } from '../it-if'
import { lockError } from '../lock-error'
import { read } from '../project'
import { Log } from '../typeorm/log'
import { JAVA_TABLES } from './table-faults'

const RUNBOOK = 'docs/guides/operating.md'
/** What the runbook calls the clients of each dialect. */
const CLIENTS: Readonly<Record<string, string>> = {
  ...{ postgres: 'PostgreSQL', mysql: 'MySQL, MariaDB', mariadb: 'MySQL, MariaDB', sqlite: 'SQLite' },
  ...{ mssql: 'SQL Server', oracle: 'Oracle' },
}
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

  itIf(backend.dialect in CLIENTS, 'SQL in the runbook')("the runbook's SQL shows what is held", async () => {
    await provider.table.create()
    await (await provider.lock({ name: 'free', lockAtMostFor: '1m' }))?.unlock()
    await provider.lock({ name: 'held', lockAtMostFor: '1h' })
    const [, shown = ''] = read(RUNBOOK).split(`\n-- ${CLIENTS[backend.dialect]}\n`)
    const [query = ''] = shown.split(';')
    await eventually(async () => {
      const rows = await dataSource.query<object[]>(
        `select seen.name from (${query}) seen where seen.lock_until > seen.now`,
      )
      expect(rows.map((row) => Object.values(row) as unknown[])).toEqual([['held']])
    })
  })

  /** The runbook has it for PostgreSQL. */
  const translated = (sql: string): string =>
    backend.dialect === 'postgres'
      ? sql
      : sql
          .replaceAll("timezone('utc', now())", 'utc_timestamp(3)')
          .replace(/interval '(.*?)s'/, 'interval $1')

  const itOnServers = itOn(backend, 'postgres', 'mysql', 'mariadb')
  itOnServers(
    'the SQL of the runbook releases a lock, pauses one that is free, and no other, and resumes it',
    async () => {
      await provider.table.create()
      const [, runbook = ''] = read(RUNBOOK).split('\n## ')
      const [release = '', pause = '', resume = ''] = Array.from(
        runbook.matchAll(/```sql\n(?:-- MySQL, MariaDB: .*\n)?(update [^`]*?);\n```/g),
        ([, update = '']) => translated(update),
      )
      const [, clock = '', hours = ''] = /^-- MySQL, MariaDB: (\S+) \+ (.*)$/m.exec(runbook) ?? []
      if (backend.dialect !== 'postgres') expect(pause).toContain(`${clock} + ${hours},`)
      const held = await provider.lock({ name: 'report', lockAtMostFor: '1h' })
      await dataSource.query(pause)
      const seen = await provider.table.find('report')
      expect(seen).toMatchObject({ held: true, paused: false })
      await dataSource.query(release)
      expect(await provider.table.find('report')).toEqual({ ...seen, now: expect.any(Date) })
      const releaseSeen = (record: LockRecord | undefined): string =>
        release
          .replace(/(?<=and locked_by = ')[^']*/, String(record?.lockedBy))
          .replace(/(?<=and lock_until = ')[^']*/, String(record?.lockUntil.toISOString().slice(0, -1)))
      // Its holder lives.
      await held?.extend('2h')
      await dataSource.query(releaseSeen(seen))
      const extended = await provider.table.find('report')
      expect(extended).toMatchObject({ held: true })
      await dataSource.query(releaseSeen(extended))
      expect(await provider.table.find('report')).toMatchObject({
        held: false,
        lastRun: { outcome: 'unlocked' },
      })
      await expect(held?.extend('1h')).rejects.toEqual(lockError('LOCK_LOST'))
      await dataSource.query(pause)
      expect(await provider.table.find('report')).toMatchObject({ paused: true })
      expect(await provider.lock({ name: 'report', lockAtMostFor: '1h' })).toBeUndefined()
      await dataSource.query(resume)
      expect(await provider.lock({ name: 'report', lockAtMostFor: '1h' })).toBeDefined()
    },
  )

  itOnServers('the SQL of the runbook finds a success, and locks that were lost', async () => {
    await provider.table.create()
    const [, success = '', lost = ''] =
      /```sql\n-- success of .*?\n(.*?);\n-- lock lost .*?\n(.*?);\n```/s.exec(read(RUNBOOK)) ?? []
    const found = async (query: string) =>
      (await dataSource.query<{ name: string }[]>(translated(query))).map(({ name }) => name).sort()
    const run = async (name: string, outcome: 'succeeded' | 'failed', error?: Error) => {
      await (await provider.lock({ name, lockAtMostFor: '1h' }))?.unlock({ outcome, error })
    }
    await run('report', 'failed')
    expect(await found(success)).toEqual([])
    await run('report', 'succeeded')
    expect(await found(success)).toEqual(['report'])
    await run('lost', 'failed', new LockError('LOCK_LOST', 'The lease is over.'))
    await provider.lock({ name: 'running', lockAtMostFor: '1h' })
    await provider.table.pause('paused', { duration: '1h', reason: 'r' })
    await provider.lock({ name: 'died', lockAtMostFor: '1h' })
    await dataSource.query(`update shedlock set lock_until = locked_at where name <> 'running'`)
    expect(await found(lost)).toEqual(['died', 'lost'])
  })

  it('a run whose lock somebody else released hears of it at its end', async () => {
    await provider.table.create()
    const lost = jest.fn()
    const executor = new LockingTaskExecutor(provider, { listeners: [{ onLockLost: lost }] })
    const run = async (name: string, during?: (seen: LockRecord) => Promise<unknown>): Promise<unknown> =>
      executor.executeWithLock({ name, lockAtMostFor: '1h' }, async () => {
        const seen = await provider.table.find(name)
        if (seen) await during?.(seen)
      })
    await run('undisturbed')
    expect(lost).not.toHaveBeenCalled()
    await run('released', (seen) => provider.table.release(seen))
    const gone = lockError('LOCK_LOST', /released by hand, or its row has changed/)
    expect(lost.mock.calls).toEqual([[expect.objectContaining({ name: 'released', error: gone })]])
  })

  it('reports runs that failed or died as overdue only if they must have succeeded', async () => {
    await provider.table.create()
    await (await provider.lock({ name: 'failed', lockAtMostFor: '1m' }))?.unlock({ outcome: 'failed' })
    await provider.lock({ name: 'died', lockAtMostFor: '1m' })
    await dataSource.query(`update shedlock set lock_until = locked_at where name = 'died'`)
    const expected = { failed: '1h', died: '1h' } as const
    expect(await provider.table.overdue(expected)).toEqual([])
    const overdue = await provider.table.overdue(expected, { mustHaveSucceeded: true })
    expect(overdue.map(({ state }) => state)).toEqual(['failed', 'died'])
  })

  it('reads the whole table only for all locks, and one lock after another to see whether they are overdue', async () => {
    await provider.table.create()
    await provider.table.pause('job-0', { duration: '1h', reason: 'r' })
    const names = Array.from({ length: 12 }, (_, number) => `job-${number}`)
    log.seen.length = 0
    const expected = Object.fromEntries(names.map((name) => [name, '1h']))
    const overdue = await provider.table.overdue(expected, { mustHaveSucceeded: false })
    expect(overdue.map(({ name }) => name)).toEqual(names.slice(1))
    expect(await provider.table.resume('job-0')).toBe(true)
    expect((await executeOnce(provider, { name: 'once', slot: SLOT }, () => undefined)).executed).toBe(true)
    const reads = log.seen.filter((statement) => /^query: .*\bselect .*lock_name/i.test(statement))
    // A lock on a SQLite file has a connection of its own.
    if (backend.dialect !== 'sqlite') expect(reads).toHaveLength(names.length + 1)
    expect(reads.filter((statement) => !/ (where|on) .?name.? (=|in) /i.test(statement))).toEqual([])
  })

  itOn(
    backend,
    'mysql',
    'mariadb',
  )('finds a lock in any spelling that the database takes for its name', async () => {
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
  })
})
