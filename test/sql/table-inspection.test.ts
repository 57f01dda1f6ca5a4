import { randomBytes } from 'node:crypto'
import { DataSource } from 'typeorm'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { dialects, tableDefinition, type LockTableOptions, type SqlLockProvider } from '../../src/sql'
import { typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { itIf } from '../it-if'
import { hostileNames } from './hostile-names'
import { tableFaults } from './table-faults'

/** What a service with its host's clock writes, nine hours east. */
const FROM_TOKYO: Readonly<Record<string, string>> = {
  postgres: `update shedlock set locked_at = locked_at + interval '9 hours'`,
  mysql: 'update shedlock set locked_at = locked_at + interval 9 hour',
  mariadb: 'update shedlock set locked_at = locked_at + interval 9 hour',
  sqlite: `update shedlock set locked_at = strftime('%Y-%m-%d %H:%M:%f', locked_at, '9 hours')`,
}

describeBackends(availableBackends())('on $name', (backend) => {
  let database: TestDatabase
  let dataSource: DataSource

  beforeEach(async () => {
    database = await backend.create()
    dataSource = await new DataSource(database.typeOrm).initialize()
  })

  afterEach(async () => {
    await dataSource.destroy()
    await database.drop()
  })

  const run = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await dataSource.query(statement)
  }

  const migrated = async (options: LockTableOptions = {}): Promise<SqlLockProvider> => {
    await run(tableDefinition(dialects[backend.dialect], options).up)
    return typeOrmLockProvider(dataSource, { ...options, lockedBy: 'tester' })
  }

  it.each(Object.entries({ default: {}, hostile: hostileNames }))(
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
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    const owner = (await provider.listLocks())[0]?.lockedBy ?? ''

    expect(await provider.releaseLock('job', 'somebody else')).toBe(false)
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1h' })).toBeUndefined()
    expect(await provider.releaseLock('job', owner)).toBe(true)
    expect(await provider.releaseLock('job', owner)).toBe(false)
    const next = await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    expect(next).toBeDefined()
    expect(await provider.releaseLock('job', owner)).toBe(false)
    await lock?.unlock()
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1h' })).toBeUndefined()
  })

  it.each(Object.entries({ default: {}, hostile: hostileNames }))(
    'finds nothing wrong with the table of the migration with %s names',
    async (_, options) => {
      const provider = await migrated(options)
      expect(await provider.checkTable()).toEqual([])
    },
  )

  it('finds a row that was locked in the future: its writer has another clock, or another time zone', async () => {
    const provider = await migrated()
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    await run([FROM_TOKYO[backend.dialect] ?? ''])
    expect(await provider.checkTable()).toMatchObject([
      {
        code: 'LOCKED_IN_FUTURE',
        severity: 'error',
        message: expect.stringMatching(/'job'.*'locked_at'.*usingDbTime/),
        fix: [],
      },
    ])
    await lock?.unlock()
  })

  itIf(['postgres', 'mysql', 'mariadb'].includes(backend.dialect), 'schemas')(
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
        await run([`drop schema ${schema}${backend.dialect === 'postgres' ? ' cascade' : ''}`])
      }
    },
  )

  for (const { fault, make, code, severity = 'error' } of tableFaults[backend.dialect] ?? []) {
    it(`finds and fixes: ${fault}`, async () => {
      await run(make)
      const provider = typeOrmLockProvider(dataSource)

      const findings = await provider.checkTable()
      expect(findings).toMatchObject([{ code, severity }])
      await run(findings.flatMap(({ fix }) => fix))
      expect(await provider.checkTable()).toEqual([])
      expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeDefined()
      expect(await provider.lock({ name: 'Job', lockAtMostFor: '1m' })).toBeDefined()
    })
  }
})
