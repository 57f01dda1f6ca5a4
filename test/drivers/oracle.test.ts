import { describe, expect, it } from '@jest/globals'
import { fakeOracledb } from './oracledb-fake'
import { column, FREE, scriptedClient, TAKEN } from './scripted-client'

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
  })
  const { lock } = script

  it('acquires a free lock, each statement in autocommit, with its values bound by position', async () => {
    script.answers = [FREE, TAKEN]
    expect(await lock()).toBeDefined()
    expect(script.asked.map(({ by }) => by)).toEqual([true, true])
    expect(script.asked[1]?.text).toMatch(
      /^update "ANY"."SHEDLOCK" set "LOCK_UNTIL" = .* \+ numtodsinterval\(:1 \/ 1000, 'second'\)/,
    )
    expect(script.asked[1]?.values).toEqual([
      60 * 86_400_000,
      60 * 86_400_000,
      expect.any(String),
      'job',
      expect.any(String),
    ])
  })

  it("does not check the key of another user's table", async () => {
    script.columns = COLUMNS.map((each) => ({ ...each, unique_keys: null }))
    script.answers = [FREE, TAKEN]
    expect(await lock()).toBeDefined()
  })
})
