import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, jest } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { migrated, openMemory } from '../backends/open-database'
import { lockError } from '../lock-error'

const job = { name: 'job', lockAtMostFor: '1h' }
const sqlJs = (autoSaveCallback: () => unknown) =>
  openMemory({ ...migrated(), type: 'sqljs', database: undefined, autoSave: true, autoSaveCallback })
interface Statement {
  step(): boolean
}
interface SqlJs {
  prepare(text: string): Statement
}

describe('SQLite in memory', () => {
  it('of sql.js is not saved when a lock was merely refused', async () => {
    let saved = 0
    const dataSource = await sqlJs(() => saved++)
    const { databaseConnection } = dataSource.driver as unknown as { databaseConnection: SqlJs }
    const prepare = jest.spyOn(databaseConnection, 'prepare')
    const provider = typeOrmLockProvider(dataSource)
    const before = saved
    const lock = await provider.lock(job)
    const taken = saved
    expect(taken).toBeGreaterThan(before)
    for (let asked = 0; asked < 10; asked++) expect(await provider.lock(job)).toBeUndefined()
    expect(saved).toBe(taken)
    await lock?.unlock()
    expect(saved).toBeGreaterThan(taken)
    for (const { value } of prepare.mock.results)
      expect(() => (value as Statement).step()).toThrow('Statement closed')
  })

  it.each(['better-sqlite3', 'sql.js'])(
    'of %s serves locks again after a statement failed',
    async (library) => {
      const dataSource = await (library === 'sql.js' ? sqlJs(() => undefined) : openMemory(migrated()))
      await dataSource.query(
        "create trigger refusal before update on shedlock begin select raise(abort, 'refused'); end",
      )
      const lock = await typeOrmLockProvider(dataSource).lock(job)
      const refused = lockError('DATABASE_ERROR', /answered .* with error SQLITE_\w+: .*refused/)
      await expect(lock?.extend('2h')).rejects.toEqual(refused)
      await dataSource.query('drop trigger refusal')
      await lock?.unlock()
    },
  )

  it('of sql.js is released again if it could not be saved', async () => {
    let save = (): unknown => undefined
    const provider = typeOrmLockProvider(await sqlJs(() => save()))
    save = () => Promise.reject(new Error('no space left'))
    await expect(provider.lock(job)).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
    save = () => undefined
    await provider.drain()
    expect(await provider.table.find('job')).toMatchObject({ held: false })
  })

  it('waits until the app has ended its transaction', async () => {
    const dataSource = await openMemory(migrated())
    await dataSource.query('begin')
    const rollback = sleep(50).then(() => dataSource.query('rollback'))
    const [lock] = await Promise.allSettled([typeOrmLockProvider(dataSource).lock(job), rollback])
    expect(lock).toEqual({ status: 'fulfilled', value: expect.anything() })
  })

  it('says that it is full, also when SQLite has rolled back by itself', async () => {
    const dataSource = await openMemory(migrated())
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
