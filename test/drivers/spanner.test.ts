import { DataSource, type TableColumn } from 'typeorm'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { dialects } from '../../src/sql'
import { createShedLockMigration, shedLockEntity, typeOrmLockProvider } from '../../src/typeorm'
import { fakeSpannerClient, type SpannerAnswer, type SpannerRequest } from './spanner-client-fake'
import { eventually } from '../eventually'

const column = (name: string, type: string, length: number | null) => ({
  column_name: name,
  column_type: type,
  max_length: length,
  nullable: 0,
  unique_keys: name === 'name' ? 1 : 0,
})
const COLUMNS = [
  column('name', 'STRING(64)', 64),
  column('lock_until', 'TIMESTAMP', null),
  column('locked_at', 'TIMESTAMP', null),
  column('locked_by', 'STRING(255)', 255),
]
const FREE: SpannerAnswer = { rows: [] }
const HELD: SpannerAnswer = { rows: [{ '': 1 }] }
const TAKEN: SpannerAnswer = { changed: 1 }
const NOTHING: SpannerAnswer = { changed: 0 }

describe('Spanner through the real TypeORM, answered by a fake client', () => {
  const asked: SpannerRequest[] = []
  let answers: SpannerAnswer[]
  let columns: typeof COLUMNS
  let dataSource: DataSource

  beforeEach(async () => {
    asked.length = 0
    columns = COLUMNS
    const client = fakeSpannerClient((request) => {
      if (request.text.includes('information_schema')) return { rows: columns }
      asked.push(request)
      const next = answers.shift()
      if (!next) throw new Error(`Not expected: ${request.text}`)
      return next
    })
    dataSource = await new DataSource({
      type: 'spanner',
      driver: client,
      entities: [shedLockEntity({ dialect: 'spanner' })],
    }).initialize()
  })

  afterEach(() => dataSource.destroy())

  const lock = () =>
    typeOrmLockProvider(dataSource, { timeLimit: '10s' }).lock({ name: 'job', lockAtMostFor: '60d' })

  it('looks without a transaction, and takes in one of its own, with values bound by name', async () => {
    answers = [FREE, TAKEN]
    expect(await lock()).toBeDefined()
    expect(asked.map(({ by }) => by)).toEqual(['read', 'transaction'])
    expect(asked[1]?.text).toMatch(/^update `shedlock` set .* interval @param0 millisecond\)/)
    expect(Object.values(asked[1]?.values ?? {})).toEqual([60 * 86_400_000, expect.any(String), 'job'])
  })

  it('makes the row when there is none', async () => {
    answers = [FREE, NOTHING, FREE, TAKEN]
    expect(await lock()).toBeDefined()
    expect(asked.map(({ by }) => by)).toEqual(['read', 'transaction', 'read', 'transaction'])
  })

  it('loses in one round trip', async () => {
    answers = [HELD]
    expect(await lock()).toBeUndefined()
  })

  it('frees in one round trip', async () => {
    answers = [FREE, TAKEN, TAKEN]
    await (await lock())?.unlock()
    expect(answers).toEqual([])
  })

  it.each(Object.entries(dialects.spanner.transientErrors))(
    'tries again after %s: %s',
    async (code, details) => {
      const error = { code: Number(code), details }
      answers = [error, FREE, error, HELD]
      expect(await lock()).toBeUndefined()
      expect(answers).toEqual([])
    },
  )

  it('fails with any other error of the server', async () => {
    answers = [FREE, { code: 7, details: 'PERMISSION_DENIED' }]
    await expect(lock()).rejects.toMatchObject({
      code: 'DATABASE_ERROR',
      message: expect.stringContaining('error 7'),
    })
  })

  it.each([4, 14])('frees the lock behind status %s, which leaves the outcome open', async (code) => {
    answers = [FREE, { code, details: 'the connection is gone' }, TAKEN]
    await expect(lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
    await eventually(() => {
      expect(asked.length).toBe(3)
    })
    expect(asked[2]?.text).toMatch(/^update `shedlock` set `lock_until` = timestamp_trunc/)
  })

  it('makes and drops the table by changes of the schema', async () => {
    answers = [NOTHING, NOTHING, NOTHING]
    const migration = new (createShedLockMigration())()
    const queryRunner = dataSource.createQueryRunner()
    await migration.up(queryRunner)
    await migration.down(queryRunner)
    await queryRunner.release()
    expect(asked.map(({ by }) => by)).toEqual(['schema', 'transaction', 'schema'])
  })

  it('makes the table by a change of the schema without a migration, unless it is there', async () => {
    columns = []
    answers = [NOTHING, NOTHING]
    const provider = typeOrmLockProvider(dataSource)
    await provider.createTable()
    expect(asked.map(({ by }) => by)).toEqual(['schema', 'transaction'])
    columns = COLUMNS
    await provider.createTable()
    expect(answers).toEqual([])
  })

  it('lets TypeORM make the columns of the migration', () => {
    const { driver } = dataSource
    const types = dataSource
      .getMetadata('ShedLock')
      .columns.map(({ databaseName, type, length, precision }) => {
        const made = { type: driver.normalizeType({ type }), length, precision }
        return `${databaseName} ${driver.createFullType(made as TableColumn)}`
      })
    expect(types).toEqual([
      'name string(64)',
      'lock_until timestamp',
      'locked_at timestamp',
      'locked_by string(255)',
    ])
  })
})
