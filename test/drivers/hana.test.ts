import { describe, expect, it } from '@jest/globals'
import { shedLockEntity, typeOrmLockProvider } from '../../src/typeorm/internal'
import { fakeHanaClient } from './hana-client-fake'
import { column, FREE, NOTHING, scriptedClient, TAKEN } from './scripted-client'

describe('SAP HANA through the real TypeORM, answered by a fake client', () => {
  const script = scriptedClient({
    dialect: 'hana',
    options: (answer) => ({
      ...{ type: 'sap', driver: fakeHanaClient(answer) },
      entities: [shedLockEntity({ dialect: 'hana' })],
    }),
    catalog: 'sys.table_columns',
    columns: [
      column('NAME', 'NVARCHAR', 64, 1),
      column('LOCK_UNTIL', 'TIMESTAMP', 27),
      column('LOCKED_AT', 'TIMESTAMP', 27),
      column('LOCKED_BY', 'NVARCHAR', 255),
    ],
    refusal: { code: 258, message: 'insufficient privilege' },
    broken: [-10807, 149, 1031],
    made: [
      'SHEDLOCK',
      'NAME nvarchar(64)',
      'LOCK_UNTIL timestamp',
      'LOCKED_AT timestamp',
      'LOCKED_BY nvarchar(255)',
    ],
  })
  const { lock } = script

  it('acquires a free lock, each statement in autocommit, with its values bound by position', async () => {
    script.answers = [FREE, TAKEN]
    expect(await lock()).toBeDefined()
    expect(script.asked.map(({ by }) => by)).toEqual([true, true])
    expect(script.asked[1]?.text).toMatch(
      /^update "SHEDLOCK" set "LOCK_UNTIL" = case when "LOCK_UNTIL" > add_nano100\(/,
    )
    expect(script.asked[1]?.values).toEqual([
      60 * 86_400_000,
      60 * 86_400_000,
      expect.any(String),
      'job',
      expect.any(String),
    ])
  })

  it('inserts the row if there is none, without reading an identity value afterwards', async () => {
    script.answers = [FREE, NOTHING, FREE, TAKEN]
    expect(await lock()).toBeDefined()
    expect(script.asked[3]?.text).toMatch(/^insert into "SHEDLOCK"/)
  })

  it('leaves an existing table alone when it creates the table only if it is missing', async () => {
    script.answers = []
    await typeOrmLockProvider(script.dataSource).table.create()
    expect(script.asked).toEqual([])
  })

  it('reports a column that would round the lease', async () => {
    script.columns = script.columns.map((each) =>
      each.column_name === 'LOCK_UNTIL' ? { ...each, column_type: 'SECONDDATE' } : each,
    )
    await expect(lock()).rejects.toMatchObject({ code: 'TABLE_MISMATCH' })
  })
})
