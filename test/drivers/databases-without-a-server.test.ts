import { DataSource, type DataSourceOptions, type TableColumn } from 'typeorm'
import { describe, expect, it } from '@jest/globals'
import { dialects, type DialectName } from '../../src/sql/internal'
import { shedLockEntity, typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterTest } from '../after-test'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import type { Answer, Request } from './client-fake'
import { fakeHanaClient } from './hana-client-fake'
import { fakeOracledb } from './oracledb-fake'
import { fakeSpannerClient } from './spanner-client-fake'

const FREE: Answer = { rows: [] }
const HELD: Answer = { rows: [{ lock_until: 1 }] }
const TAKEN: Answer = { changed: 1 }

const column = (column_name: string, column_type: string, max_length: number | null, unique_keys = 0) => ({
  ...{ column_name, column_type, max_length, nullable: 0, unique_keys },
})

/** What one driver is given and sends. */
interface Driver {
  /** Options of a DataSource whose client returns these answers. */
  readonly options: (answer: (request: Request) => Answer) => DataSourceOptions
  /** Part of the statement that reads the table's columns. */
  readonly catalog: string
  readonly columns: readonly ReturnType<typeof column>[]
  /** How the read and the update of an acquisition are sent. */
  readonly by: readonly unknown[]
  readonly update: RegExp
  /** An error that is not transient. */
  readonly refusal: { readonly code: string | number; readonly message: string }
  /** Errors after which the statement may have been run. */
  readonly unanswered: readonly (string | number)[]
  /** The table and columns that TypeORM creates from the entity; `undefined` without `synchronize`. */
  readonly synchronized?: readonly string[]
}

const DRIVERS: Partial<Record<DialectName, Driver>> = {
  hana: {
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
    by: [true, true],
    update: /^update "SHEDLOCK" set "LOCK_UNTIL" = case when "LOCK_UNTIL" > add_nano100\(/,
    refusal: { code: 258, message: 'insufficient privilege' },
    unanswered: [-10807, 149, 1031],
    synchronized: [
      'SHEDLOCK',
      'NAME nvarchar(64)',
      'LOCK_UNTIL timestamp',
      'LOCKED_AT timestamp',
      'LOCKED_BY nvarchar(255)',
    ],
  },
  oracle: {
    options: (answer) => ({
      ...{ type: 'oracle', database: 'any', schema: 'ANY', driver: fakeOracledb(answer) },
    }),
    catalog: 'all_tab_columns',
    columns: [
      column('NAME', 'VARCHAR2', 64, 2),
      column('LOCK_UNTIL', 'TIMESTAMP(3)', 0),
      column('LOCKED_AT', 'TIMESTAMP(3)', 0),
      column('LOCKED_BY', 'VARCHAR2', 255),
    ],
    by: [true, true],
    update: /^update "ANY"."SHEDLOCK" set "LOCK_UNTIL" = .* \+ numtodsinterval\(:1 \/ 1000, 'second'\)/,
    refusal: { code: 'ORA-01031', message: 'insufficient privileges' },
    unanswered: ['ORA-03113'],
  },
  spanner: {
    options: (answer) => ({
      ...{ type: 'spanner', driver: fakeSpannerClient(answer) },
      entities: [shedLockEntity({ dialect: 'spanner' })],
    }),
    catalog: 'information_schema',
    columns: [
      column('name', 'STRING(64)', 64, 1),
      column('lock_until', 'TIMESTAMP', null),
      column('locked_at', 'TIMESTAMP', null),
      column('locked_by', 'STRING(255)', 255),
    ],
    by: ['read', 'transaction'],
    update: /^update `shedlock` set .* interval @param0 millisecond\)/,
    refusal: { code: 7, message: 'PERMISSION_DENIED' },
    unanswered: [4, 14],
    synchronized: [
      'shedlock',
      'name string(64)',
      'lock_until timestamp',
      'locked_at timestamp',
      'locked_by string(255)',
    ],
  },
}

/** Connects TypeORM with a fake client that returns these answers in turn. */
async function connect(
  { options, catalog, columns }: Driver,
  answers: Answer[],
  changeColumns: (columns: Driver['columns']) => readonly object[] = (all) => all,
) {
  const sent: Request[] = []
  const dataSource = await new DataSource(
    options((request) => {
      if (request.text.includes(catalog)) return { rows: changeColumns(columns).map((each) => ({ ...each })) }
      sent.push(request)
      const answer = answers.shift()
      if (!answer) throw new Error(`Not expected: ${request.text}`)
      return answer
    }),
  ).initialize()
  afterTest(() => dataSource.destroy())
  const provider = typeOrmLockProvider(dataSource, { timeLimit: '10s' })
  const lock = () => provider.lock({ name: 'job', lockAtMostFor: '60d' })
  return { dataSource, provider, lock, sent, answers }
}

describe.each(Object.entries(DRIVERS))("TypeORM's driver for %s, with a fake client", (name, driver) => {
  it('sends a read and an update, which commit by themselves, with bound values', async () => {
    const { lock, sent } = await connect(driver, [FREE, TAKEN])
    expect(await lock()).toBeDefined()
    expect(sent.map(({ by }) => by)).toEqual(driver.by)
    expect(sent[1]?.text).toMatch(driver.update)
    const sixtyDays = 60 * 86_400_000
    expect(Object.values(sent[1]?.values as object)).toEqual([
      ...[sixtyDays, sixtyDays, expect.any(String), 'job', expect.any(String)],
    ])
  })

  it('retries after a transient error, but not after another error', async () => {
    const [code = ''] = Object.keys(dialects[name as DialectName].transientErrors)
    const busy = await connect(driver, [{ code, message: 'try again' }, HELD])
    expect(await busy.lock()).toBeUndefined()
    expect(busy.answers).toEqual([])
    const { lock } = await connect(driver, [FREE, driver.refusal])
    await expect(lock()).rejects.toEqual(lockError('DATABASE_ERROR', `error ${driver.refusal.code}`))
  })

  it.each(driver.unanswered)(
    'releases the lock after error %s, because the update may have been run',
    async (code) => {
      const { lock, sent } = await connect(driver, [FREE, { code, message: 'the connection is gone' }, TAKEN])
      await expect(lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
      await eventually(() => expect(sent.length).toBe(3))
      expect(sent[2]?.text).toMatch(/^update /)
    },
  )

  const { synchronized } = driver
  if (synchronized)
    it('creates the same columns from the entity as the migration', async () => {
      const { dataSource } = await connect(driver, [])
      const { columns, tableName } = dataSource.getMetadata('ShedLock')
      const types = columns.map(({ databaseName, type, length, precision }) => {
        const column = { type: dataSource.driver.normalizeType({ type }), length, precision }
        return `${databaseName} ${dataSource.driver.createFullType(column as TableColumn)}`
      })
      expect([tableName, ...types]).toEqual(synchronized)
    })
})

const { hana, oracle, spanner } = DRIVERS as Record<'hana' | 'oracle' | 'spanner', Driver>

it('check() reports a SECONDDATE of SAP HANA, which would round the lease', async () => {
  const { lock } = await connect(hana, [], (columns) =>
    columns.map((each) =>
      each.column_name === 'LOCK_UNTIL' ? { ...each, column_type: 'SECONDDATE' } : each,
    ),
  )
  await expect(lock()).rejects.toMatchObject({ code: 'TABLE_MISMATCH' })
})

it('check() accepts the table of another Oracle user, whose keys it cannot read', async () => {
  const { lock } = await connect(oracle, [FREE, TAKEN], (columns) =>
    columns.map((each) => ({ ...each, unique_keys: null })),
  )
  expect(await lock()).toBeDefined()
})

it('create() sends a schema change to Spanner, unless the table exists', async () => {
  const missing = await connect(spanner, [{ changed: 0 }, { changed: 0 }], () => [])
  await missing.provider.table.create()
  expect(missing.sent.map(({ by }) => by)).toEqual(['schema', 'transaction'])
  const existing = await connect(spanner, [])
  await existing.provider.table.create()
  expect(existing.sent).toEqual([])
})
