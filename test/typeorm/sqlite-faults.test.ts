import { DataSource } from 'typeorm'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createShedLockMigration, typeOrmLockProvider } from '../../src/typeorm'

describe('SQLite in memory', () => {
  const opened: DataSource[] = []
  const open = async (options: object): Promise<DataSource> => {
    const migrations = [createShedLockMigration()]
    const dataSource = await new DataSource({ migrations, ...options } as never).initialize()
    opened.push(dataSource)
    await dataSource.runMigrations()
    return dataSource
  }
  afterEach(async () => {
    for (const dataSource of opened.splice(0)) await dataSource.destroy()
  })

  it('of sql.js is not saved when a lock was merely refused', async () => {
    let saved = 0
    const autoSaveCallback = (): number => saved++
    const provider = typeOrmLockProvider(await open({ type: 'sqljs', autoSave: true, autoSaveCallback }))
    const job = { name: 'job', lockAtMostFor: '1h' }
    const before = saved
    const lock = await provider.lock(job)
    const taken = saved
    expect(taken).toBeGreaterThan(before)
    for (let asked = 0; asked < 10; asked++) expect(await provider.lock(job)).toBeUndefined()
    expect(saved).toBe(taken)
    await lock?.unlock()
    expect(saved).toBeGreaterThan(taken)
  })

  it('says that it is full, also when SQLite has rolled back by itself', async () => {
    const dataSource = await open({ type: 'better-sqlite3', database: ':memory:' })
    const provider = typeOrmLockProvider(dataSource)
    const [pages] = await dataSource.query<{ page_count: number }[]>('pragma page_count')
    await dataSource.query(`pragma max_page_count = ${pages?.page_count ?? 0}`)
    const fill = async (): Promise<void> => {
      for (let count = 0; count < 1_000; count++)
        await provider.lock({ name: `${count}`.padStart(64, 'x'), lockAtMostFor: '1h' })
    }
    await expect(fill()).rejects.toThrow(/SQLITE_FULL.*full/)
  })
})
