import { DataSource } from 'typeorm'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { oracle } from '../../src/sql/dialects/oracle'
import { typeOrmLockProvider } from '../../src/typeorm'
import { fakeOracledb, type OracleAnswer, type OracleRequest } from './oracledb-fake'
import { eventually } from '../eventually'

const column = (name: string, type: string, length: number) => ({
  column_name: name,
  column_type: type,
  max_length: length,
  nullable: 0,
  unique_keys: name === 'NAME' ? 2 : 0,
})
const COLUMNS = [
  column('NAME', 'VARCHAR2', 64),
  column('LOCK_UNTIL', 'TIMESTAMP(3)', 0),
  column('LOCKED_AT', 'TIMESTAMP(3)', 0),
  column('LOCKED_BY', 'VARCHAR2', 255),
]
const FREE: OracleAnswer = { rows: [] }
const HELD: OracleAnswer = { rows: [{ '1': 1 }] }
const TAKEN: OracleAnswer = { rowsAffected: 1 }
const NOTHING: OracleAnswer = { rowsAffected: 0 }

describe('Oracle through the real TypeORM, answered by a fake oracledb', () => {
  const asked: OracleRequest[] = []
  let answers: OracleAnswer[]
  let columns: (Omit<(typeof COLUMNS)[number], 'unique_keys'> & { unique_keys: number | null })[]
  let dataSource: DataSource

  beforeEach(async () => {
    asked.length = 0
    columns = COLUMNS
    dataSource = await new DataSource({
      type: 'oracle',
      database: 'any',
      schema: 'ANY',
      driver: fakeOracledb((request) => {
        if (request.text.includes('all_tab_columns')) return { rows: columns }
        asked.push(request)
        const next = answers.shift()
        if (!next) throw new Error(`Not expected: ${request.text}`)
        return next
      }),
    }).initialize()
  })

  afterEach(() => dataSource.destroy())

  const lock = () =>
    typeOrmLockProvider(dataSource, { timeLimit: '10s' }).lock({ name: 'job', lockAtMostFor: '60d' })

  it('takes a lock that is free, each statement in autocommit, with its values bound by position', async () => {
    answers = [FREE, TAKEN]
    expect(await lock()).toBeDefined()
    expect(asked.map(({ autoCommit }) => autoCommit)).toEqual([true, true])
    expect(asked[1]?.text).toMatch(
      /^update "ANY"."SHEDLOCK" set "LOCK_UNTIL" = .* \+ numtodsinterval\(:1 \/ 1000, 'second'\)/,
    )
    expect(asked[1]?.binds).toEqual([60 * 86_400_000, expect.any(String), 'job'])
  })

  it('makes the row when there is none', async () => {
    answers = [FREE, NOTHING, TAKEN]
    expect(await lock()).toBeDefined()
    expect(asked[2]?.text).toMatch(/^insert into "ANY"."SHEDLOCK"/)
  })

  it('gives no lock in a table of its own without a key', async () => {
    columns = COLUMNS.map((each) => ({ ...each, unique_keys: 0 }))
    await expect(lock()).rejects.toMatchObject({ code: 'TABLE_MISMATCH' })
    expect(asked).toEqual([])
  })

  it("leaves the key of another's table open", async () => {
    columns = COLUMNS.map((each) => ({ ...each, unique_keys: null }))
    answers = [FREE, TAKEN]
    expect(await lock()).toBeDefined()
  })

  it('refuses a name that Oracle cannot have, before it is asked', () => {
    expect(() => typeOrmLockProvider(dataSource, { tableName: 'my"locks' })).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIGURATION' }),
    )
  })

  it('loses in one round trip', async () => {
    answers = [HELD]
    expect(await lock()).toBeUndefined()
  })

  it('looks again when another session took the row in between', async () => {
    answers = [FREE, NOTHING, NOTHING, HELD]
    expect(await lock()).toBeUndefined()
    expect(answers).toEqual([])
  })

  it('frees in one round trip', async () => {
    answers = [FREE, TAKEN, TAKEN]
    await (await lock())?.unlock()
    expect(answers).toEqual([])
  })

  it.each(Object.entries(oracle.transientErrors))('tries again after %s: %s', async (code, message) => {
    const error = { error: `${code}: ${message}` }
    answers = [error, FREE, error, HELD]
    expect(await lock()).toBeUndefined()
    expect(answers).toEqual([])
  })

  it('fails with any other error of the server', async () => {
    answers = [FREE, { error: 'ORA-01031: insufficient privileges' }]
    await expect(lock()).rejects.toMatchObject({
      code: 'DATABASE_ERROR',
      message: expect.stringContaining('ORA-01031'),
    })
  })

  it('frees the lock behind a connection that was lost', async () => {
    answers = [FREE, { error: 'ORA-03113: end-of-file on communication channel' }, TAKEN]
    await expect(lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
    await eventually(() => {
      expect(asked.length).toBe(3)
    })
    expect(asked[2]?.text).toMatch(/^update "ANY"."SHEDLOCK" set "LOCK_UNTIL" = cast/)
  })
})
