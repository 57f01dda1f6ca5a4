import { randomBytes } from 'node:crypto'
import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import {
  dialects,
  lockTableNames,
  tableDefinition,
  type LockTableOptions,
  type SqlLockProvider,
} from '../../src/sql'
import { typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { itIf } from '../it-if'
import { hostileNamesOn } from './hostile-names'
import { tableFaults } from './table-faults'

const job = { name: 'job', lockAtMostFor: '1h' }
/** What a service whose clock is ahead writes. */
const AHEAD: Readonly<Record<string, (seconds: number) => string>> = {
  postgres: (seconds) => `locked_at + interval '${seconds} seconds'`,
  cockroachdb: (seconds) => `locked_at + interval '${seconds} seconds'`,
  mysql: (seconds) => `locked_at + interval ${seconds} second`,
  mariadb: (seconds) => `locked_at + interval ${seconds} second`,
  mssql: (seconds) => `dateadd(second, ${seconds}, locked_at)`,
  oracle: (seconds) => `locked_at + numtodsinterval(${seconds}, 'second')`,
  sqlite: (seconds) => `strftime('%Y-%m-%d %H:%M:%f', locked_at, '${seconds} seconds')`,
}
const HOUR = 3_600
/** Takes a schema away, with its table. */
const DROP_SCHEMA: Readonly<Record<string, (schema: string) => readonly string[]>> = {
  postgres: (schema) => [`drop schema ${schema} cascade`],
  cockroachdb: (schema) => [`drop schema ${schema} cascade`],
  mysql: (schema) => [`drop schema ${schema}`],
  mariadb: (schema) => [`drop schema ${schema}`],
  mssql: (schema) => [`drop table if exists ${schema}.shedlock`, `drop schema ${schema}`],
}

describeBackends(availableBackends())('on $name', (backend) => {
  let dataSource: DataSource

  beforeEach(async () => {
    ;({ dataSource } = await openDatabase(backend))
  })

  const run = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await dataSource.query(statement)
  }

  const migrated = async (options: LockTableOptions = {}): Promise<SqlLockProvider> => {
    await run(tableDefinition(dialects[backend.dialect], options).up)
    return typeOrmLockProvider(dataSource, { ...options, lockedBy: 'tester' })
  }

  it.each(Object.entries({ default: {}, hostile: hostileNamesOn(backend.dialect) }))(
    'lists who holds what, by the database clock, with %s names',
    async (_, options) => {
      const provider = await migrated(options)
      expect(await provider.listLocks()).toEqual([])
      await provider.lock({ name: 'held', lockAtMostFor: '1h' })
      const free = await provider.lock({ name: 'free', lockAtMostFor: '1h' })
      await free?.unlock()

      const locks = await provider.listLocks()
      expect(locks).toMatchObject([
        { name: 'free', held: false },
        { name: 'held', held: true },
      ])
      for (const { lockedBy, lockedAt, lockUntil, now, held } of locks) {
        expect(lockedBy).toMatch(/^tester\//)
        // An hour or a moment. Not exactly, because PostgreSQL reads its clock for each of the two.
        expect(lockUntil.getTime() - lockedAt.getTime() > 1_800_000).toBe(held)
        expect(lockUntil.getTime() > now.getTime()).toBe(held)
        expect(Math.abs(now.getTime() - Date.now())).toBeLessThan(60_000)
      }
    },
  )

  it('releases a lock only from the owner that it is told', async () => {
    const provider = await migrated()
    const lock = await provider.lock(job)
    const owner = (await provider.listLocks())[0]?.lockedBy ?? ''

    expect(await provider.releaseLock('job', 'somebody else')).toBe(false)
    expect(await provider.lock(job)).toBeUndefined()
    expect(await provider.releaseLock('job', owner)).toBe(true)
    expect(await provider.releaseLock('job', owner)).toBe(false)
    const next = await provider.lock(job)
    expect(next).toBeDefined()
    expect(await provider.releaseLock('job', owner)).toBe(false)
    await lock?.unlock()
    expect(await provider.lock(job)).toBeUndefined()
  })

  it.each(Object.entries({ default: {}, hostile: hostileNamesOn(backend.dialect) }))(
    'finds nothing wrong with the table of the migration with %s names',
    async (_, options) => {
      const provider = await migrated(options)
      expect(await provider.checkTable()).toEqual([])
    },
  )

  it.each([
    ['Java, nine hours east', 'java-host', 9 * HOUR],
    ['Java, whose clock is a little ahead', 'java-host', 30],
    ['ours, further than any slot', undefined, 90],
  ] as const)('finds a row that was locked in the future: %s', async (_, owner, seconds) => {
    const provider = await migrated()
    const lock = await provider.lock(job)
    if (owner !== undefined) await run([`update shedlock set locked_by = '${owner}'`])
    await run([`update shedlock set locked_at = ${AHEAD[backend.dialect]?.(seconds) ?? ''}`])
    const { columnNames } = lockTableNames({}, dialects[backend.dialect])
    const row = await provider.findLock('job')
    const lockedAt = row?.lockedAt.toISOString() ?? ''
    expect(await provider.checkTable()).toMatchObject([
      {
        code: 'LOCKED_IN_FUTURE',
        severity: 'error',
        message: expect.stringMatching(
          `^Lock 'job', last acquired by '.*', has a time in '${columnNames.lockedAt}' that lies in the future, ${lockedAt}, while the database's clock says \\d{4}-.*usingDbTime`,
        ),
        fix: [expect.stringMatching(/^update .* set .*locked_at.* = .* where /)],
      },
    ])
    // Whether it is overdue, nobody knows.
    const [overdue] = await provider.overdueLocks({ job: '1h' })
    expect(overdue).toMatchObject({ name: 'job', lockedAt: row?.lockedAt })
    expect(overdue?.age).toBeLessThan(0)
    // Its SQL may run twice, and moves no lease.
    for (const { fix } of [...(await provider.checkTable()), ...(await provider.checkTable())]) await run(fix)
    const fixed = await provider.findLock('job')
    expect(fixed?.lockUntil).toEqual(row?.lockUntil)
    expect(await provider.checkTable()).toHaveLength(seconds > 60 ? 0 : 1)
    await lock?.unlock()
  })

  it('finds nothing wrong with a slot of ours that is ahead, nor with the lock after it', async () => {
    const provider = await migrated()
    const ahead = { name: 'job', lockAtMostFor: '1h', slot: Date.now() + 50_000 }
    const lock = await provider.lock(ahead)
    expect(await provider.checkTable()).toEqual([])
    expect(await provider.overdueLocks({ job: '1h' })).toEqual([])
    await lock?.unlock()
    expect(await provider.checkTable()).toEqual([])
    const next = await provider.lock(job)
    expect(await next?.fencingToken()).toBe(ahead.slot + 1)
    await provider.pauseLock('other', { for: '1h', reason: 'r' })
    expect(await provider.checkTable()).toEqual([])
  })

  itIf(backend.dialect in DROP_SCHEMA, 'schemas')(
    'gives SQL that makes the schema as well, where it is missing',
    async () => {
      const schema = `app_${randomBytes(6).toString('hex')}`
      const provider = typeOrmLockProvider(dataSource, { schema })
      try {
        const findings = await provider.checkTable()
        expect(findings).toMatchObject([{ code: 'TABLE_MISSING' }])
        await run(findings.flatMap(({ fix }) => fix))
        expect(await provider.checkTable()).toEqual([])
      } finally {
        await run(DROP_SCHEMA[backend.dialect]?.(schema) ?? [])
      }
    },
  )

  itIf(backend.dialect === 'postgres', 'a search path')(
    'tells that the table is in another schema',
    async () => {
      const provider = await migrated()
      await run([
        'create schema app',
        `do $$ begin execute format('alter database %I set search_path = app, public', current_database()); end $$`,
      ])
      await dataSource.destroy()
      await dataSource.initialize()
      expect(await provider.checkTable()).toMatchObject([
        {
          code: 'OTHER_SCHEMA',
          severity: 'warning',
          message: expect.stringMatching(
            /'shedlock' was found in schema 'public', .* in 'app', .* – name the schema/,
          ),
        },
      ])
      expect(await typeOrmLockProvider(dataSource, { schema: 'public' }).checkTable()).toEqual([])
    },
  )

  it.each(tableFaults[backend.dialect] ?? [])('finds and fixes: %s', async (_, told, make) => {
    await run(make)
    const provider = typeOrmLockProvider(dataSource)

    const findings = await provider.checkTable()
    expect(findings.map(({ severity, code }) => `${severity}: ${code}`)).toEqual([told])
    await run(findings.flatMap(({ fix }) => fix))
    expect(await provider.checkTable()).toEqual([])
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeDefined()
    expect(await provider.lock({ name: 'Job', lockAtMostFor: '1m' })).toBeDefined()
  })
})
