import { DataSource } from 'typeorm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { dialects, tableDefinition, type LockTableOptions, type SqlLockProvider } from '../src/sql'
import { typeOrmLockProvider } from '../src/typeorm'
import { availableBackends, type TestDatabase } from './backends'
import { hostileNames } from './hostile-names'
import { tableFaults } from './table-faults'

describe.for(availableBackends())('on $name', (backend) => {
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

  it.for(Object.entries({ default: {}, hostile: hostileNames }))(
    'lists who holds what, by the database clock, with %s names',
    async ([, options]) => {
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
        expect(lockUntil.getTime() - lockedAt.getTime() === 3_600_000).toBe(held)
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

  it.for(Object.entries({ default: {}, hostile: hostileNames }))(
    'finds nothing wrong with the table of the migration with %s names',
    async ([, options]) => {
      const provider = await migrated(options)
      expect(await provider.checkTable()).toEqual([])
    },
  )

  it.for(tableFaults[backend.dialect] ?? [])(
    'finds and mends: $fault',
    async ({ make, code, severity = 'error' }) => {
      await run(make)
      const provider = typeOrmLockProvider(dataSource)

      const findings = await provider.checkTable()
      expect(findings).toMatchObject([{ code, severity }])
      await run(findings.flatMap(({ mend }) => mend))
      expect(await provider.checkTable()).toEqual([])
      expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeDefined()
      expect(await provider.lock({ name: 'Job', lockAtMostFor: '1m' })).toBeDefined()
    },
  )
})
