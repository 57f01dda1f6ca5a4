import { DataSource, type TableColumn } from 'typeorm'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { dialects } from '../../src/sql'
import { createShedLockMigration, shedLockEntity, typeOrmLockProvider } from '../../src/typeorm'
import { fakeHanaClient, type HanaAnswer, type HanaRequest } from './hana-client-fake'
import { eventually } from '../eventually'

const column = (name: string, type: string, length: number) => ({
  column_name: name,
  column_type: type,
  max_length: length,
  nullable: 0,
  unique_keys: name === 'NAME' ? 1 : 0,
})
const COLUMNS = [
  column('NAME', 'NVARCHAR', 64),
  column('LOCK_UNTIL', 'TIMESTAMP', 27),
  column('LOCKED_AT', 'TIMESTAMP', 27),
  column('LOCKED_BY', 'NVARCHAR', 255),
]
const FREE: HanaAnswer = { rows: [] }
const HELD: HanaAnswer = { rows: [{ '1': 1 }] }
const TAKEN: HanaAnswer = { changed: 1 }
const NOTHING: HanaAnswer = { changed: 0 }

describe('SAP HANA through the real TypeORM, answered by a fake client', () => {
  const asked: HanaRequest[] = []
  let answers: HanaAnswer[]
  let columns: typeof COLUMNS
  let dataSource: DataSource

  beforeEach(async () => {
    asked.length = 0
    columns = COLUMNS
    const client = fakeHanaClient((request) => {
      if (request.text.includes('sys.table_columns')) return { rows: columns }
      asked.push(request)
      const next = answers.shift()
      if (!next) throw new Error(`Not expected: ${request.text}`)
      return next
    })
    dataSource = await new DataSource({
      type: 'sap',
      driver: client,
      entities: [shedLockEntity({ dialect: 'hana' })],
    }).initialize()
  })

  afterEach(() => dataSource.destroy())

  const lock = (timeLimit = '10s') =>
    typeOrmLockProvider(dataSource, { timeLimit }).lock({ name: 'job', lockAtMostFor: '60d' })

  it('takes a lock that is free, each statement in autocommit, with its values bound by position', async () => {
    answers = [FREE, TAKEN]
    expect(await lock()).toBeDefined()
    expect(asked.map(({ autoCommit }) => autoCommit)).toEqual([true, true])
    expect(asked[1]?.text).toMatch(/^update "SHEDLOCK" set "LOCK_UNTIL" = add_nano100\(/)
    expect(asked[1]?.values).toEqual([60 * 86_400_000, expect.any(String), 'job'])
  })

  it('makes the row when there is none, and asks for no identity value after it', async () => {
    answers = [FREE, NOTHING, FREE, TAKEN]
    expect(await lock()).toBeDefined()
    expect(asked[3]?.text).toMatch(/^insert into "SHEDLOCK"/)
  })

  it('loses in one round trip', async () => {
    answers = [HELD]
    expect(await lock()).toBeUndefined()
  })

  it('loses when another session took the row in between', async () => {
    answers = [FREE, NOTHING, HELD]
    expect(await lock()).toBeUndefined()
  })

  it('frees in one round trip', async () => {
    answers = [FREE, TAKEN, TAKEN]
    await (await lock())?.unlock()
    expect(answers).toEqual([])
  })

  it.each(Object.entries(dialects.hana.transientErrors))(
    'tries again after %s: %s',
    async (code, message) => {
      const error = { code: Number(code), message }
      answers = [error, FREE, error, HELD]
      expect(await lock()).toBeUndefined()
      expect(answers).toEqual([])
    },
  )

  it('fails with any other error of the server', async () => {
    answers = [FREE, { code: 258, message: 'insufficient privilege' }]
    await expect(lock()).rejects.toMatchObject({
      code: 'DATABASE_ERROR',
      message: expect.stringContaining('error 258'),
    })
  })

  it.each([-10807, 149, 1031])(
    'frees the lock behind error %s, which leaves the outcome open',
    async (code) => {
      answers = [FREE, { code, message: 'the connection is gone' }, TAKEN]
      await expect(lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
      await eventually(() => {
        expect(asked.length).toBe(3)
      })
      expect(asked[2]?.text).toMatch(/^update "SHEDLOCK" set "LOCK_UNTIL" = current_utctimestamp/)
    },
  )

  it('makes the table by migration', async () => {
    columns = []
    answers = [NOTHING]
    const queryRunner = dataSource.createQueryRunner()
    await new (createShedLockMigration())().up(queryRunner)
    await queryRunner.release()
    expect(asked.map(({ text }) => text.split('\n')[0])).toEqual(['create table "SHEDLOCK" ('])
  })

  it('leaves a table that is there to be, when it is to be made unless it is there', async () => {
    answers = []
    await typeOrmLockProvider(dataSource).createTable()
    expect(asked).toEqual([])
  })

  it('lets TypeORM make the columns of the migration', () => {
    const { driver } = dataSource
    const { columns, tableName } = dataSource.getMetadata('ShedLock')
    const types = columns.map(({ databaseName, type, length, precision }) => {
      const column = { type: driver.normalizeType({ type }), length, precision }
      return `${databaseName} ${driver.createFullType(column as TableColumn)}`
    })
    expect([tableName, ...types]).toEqual([
      'SHEDLOCK',
      'NAME nvarchar(64)',
      'LOCK_UNTIL timestamp',
      'LOCKED_AT timestamp',
      'LOCKED_BY nvarchar(255)',
    ])
  })

  it('tells a column that would round the lease', async () => {
    columns = columns.map((each) =>
      each.column_name === 'LOCK_UNTIL' ? { ...each, column_type: 'SECONDDATE' } : each,
    )
    await expect(lock()).rejects.toMatchObject({ code: 'TABLE_MISMATCH' })
  })
})
