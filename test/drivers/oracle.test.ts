import { DataSource } from 'typeorm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { oracle } from '../../src/sql/dialects/oracle'
import { typeOrmLockProvider } from '../../src/typeorm'
import { fakeOracledb, type OracleAnswer, type OracleRequest } from './oracledb-fake'

const COLUMNS = [
  { column_name: 'NAME', column_type: 'VARCHAR2' },
  { column_name: 'LOCK_UNTIL', column_type: 'TIMESTAMP(3)' },
  { column_name: 'LOCKED_AT', column_type: 'TIMESTAMP(3)' },
  { column_name: 'LOCKED_BY', column_type: 'VARCHAR2' },
]
const FREE: OracleAnswer = { rows: [] }
const HELD: OracleAnswer = { rows: [{ '1': 1 }] }
const TAKEN: OracleAnswer = { rowsAffected: 1 }
const NOTHING: OracleAnswer = { rowsAffected: 0 }

describe('Oracle through the real TypeORM, answered by a fake oracledb', () => {
  const asked: OracleRequest[] = []
  let answers: OracleAnswer[]
  let dataSource: DataSource

  beforeEach(async () => {
    asked.length = 0
    dataSource = await new DataSource({
      type: 'oracle',
      database: 'any',
      schema: 'ANY',
      driver: fakeOracledb((request) => {
        if (request.text.includes('all_tab_columns')) return { rows: COLUMNS }
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
      /^update "SHEDLOCK" set "LOCK_UNTIL" = .* \+ numtodsinterval\(:1 \/ 1000, 'second'\)/,
    )
    expect(asked[1]?.binds).toEqual([60 * 86_400_000, expect.any(String), 'job'])
  })

  it('makes the row when there is none', async () => {
    answers = [FREE, NOTHING, TAKEN]
    expect(await lock()).toBeDefined()
    expect(asked[2]?.text).toMatch(/^insert into "SHEDLOCK"/)
  })

  it('loses in one round trip', async () => {
    answers = [HELD]
    expect(await lock()).toBeUndefined()
  })

  it('loses when another session took the row in between', async () => {
    answers = [FREE, NOTHING, NOTHING]
    expect(await lock()).toBeUndefined()
  })

  it('frees in one round trip', async () => {
    answers = [FREE, TAKEN, TAKEN]
    await (await lock())?.unlock()
    expect(answers).toEqual([])
  })

  it.for(Object.entries(oracle.errors.conflict))('asks again after %s: %s', async ([code, message]) => {
    answers = [FREE, { error: `${code}: ${message}` }, HELD]
    expect(await lock()).toBeUndefined()
    expect(answers).toEqual([])
  })

  it('fails with any other error of the server', async () => {
    answers = [FREE, { error: 'ORA-01031: insufficient privileges' }]
    await expect(lock()).rejects.toMatchObject({
      code: 'DATABASE_ERROR',
      message: expect.stringContaining('ORA-01031') as string,
    })
  })

  it('frees the lock behind a connection that was lost', async () => {
    answers = [FREE, { error: 'ORA-03113: end-of-file on communication channel' }, TAKEN]
    await expect(lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
    await expect.poll(() => asked.length).toBe(3)
    expect(asked[2]?.text).toMatch(/^update "SHEDLOCK" set "LOCK_UNTIL" = cast/)
  })
})
