import { describe, expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { fakeOracledb } from './oracledb-fake'
import { column, FREE, HELD, NOTHING, scriptedClient, TAKEN } from './scripted-client'

const COLUMNS = [
  column('NAME', 'VARCHAR2', 64, 2),
  column('LOCK_UNTIL', 'TIMESTAMP(3)', 0),
  column('LOCKED_AT', 'TIMESTAMP(3)', 0),
  column('LOCKED_BY', 'VARCHAR2', 255),
]

describe('Oracle through the real TypeORM, answered by a fake oracledb', () => {
  const script = scriptedClient({
    dialect: 'oracle',
    options: (answer) => ({
      ...{ type: 'oracle', database: 'any', schema: 'ANY', driver: fakeOracledb(answer) },
    }),
    catalog: 'all_tab_columns',
    columns: COLUMNS,
    refusal: { code: 'ORA-01031', message: 'insufficient privileges' },
    broken: ['ORA-03113'],
    release: /^update "ANY"."SHEDLOCK" set "LOCK_UNTIL" = case when cast\(.* < "LOCK_UNTIL" then/,
  })
  const { lock } = script

  it('acquires a free lock, each statement in autocommit, with its values bound by position', async () => {
    script.answers = [FREE, TAKEN]
    expect(await lock()).toBeDefined()
    expect(script.asked.map(({ by }) => by)).toEqual([true, true])
    expect(script.asked[1]?.text).toMatch(
      /^update "ANY"."SHEDLOCK" set "LOCK_UNTIL" = .* \+ numtodsinterval\(:1 \/ 1000, 'second'\)/,
    )
    expect(script.asked[1]?.values).toEqual([60 * 86_400_000, expect.any(String), 'job'])
  })

  it('inserts the row if there is none', async () => {
    script.answers = [FREE, NOTHING, TAKEN]
    expect(await lock()).toBeDefined()
    expect(script.asked[2]?.text).toMatch(/^insert into "ANY"."SHEDLOCK"/)
  })

  it('refuses to lock in a table without a key that the user owns', async () => {
    script.columns = COLUMNS.map((each) => ({ ...each, unique_keys: 0 }))
    await expect(lock()).rejects.toMatchObject({ code: 'TABLE_MISMATCH' })
    expect(script.asked).toEqual([])
  })

  it("does not check the key of another user's table", async () => {
    script.columns = COLUMNS.map((each) => ({ ...each, unique_keys: null }))
    script.answers = [FREE, TAKEN]
    expect(await lock()).toBeDefined()
  })

  it('refuses a name that Oracle does not allow, without a query', () => {
    expect(() => typeOrmLockProvider(script.dataSource, { tableName: 'my"locks' })).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIGURATION' }),
    )
  })

  it('tries again if another session acquired the row in between', async () => {
    script.answers = [FREE, NOTHING, NOTHING, HELD]
    expect(await lock()).toBeUndefined()
    expect(script.answers).toEqual([])
  })
})
