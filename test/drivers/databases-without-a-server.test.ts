import { DataSource, type TableColumn } from 'typeorm'
import { describe, expect, it, jest } from '@jest/globals'
import { shedLockEntity } from '../../src/typeorm/entity'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { FAKE_CLIENTS, type Answer, type Request } from './fake-clients'

const FREE: Answer = { rows: [] }
const HELD: Answer = { rows: [{ lock_until: 1 }] }
const TAKEN: Answer = { changed: 1 }
/** Of a batch. */
const outcome = (value: string): Answer => ({ rows: [{ outcome: value }] })

/** What the catalogue of Spanner says of the columns that the migration creates. */
const SPANNER = ['name', 'lock_until', 'locked_at', 'locked_by'].map((column_name) => ({
  ...{ column_name, column_type: /by|name/.test(column_name) ? 'STRING(255)' : 'TIMESTAMP', nullable: 0 },
  unique_keys: 1,
}))

/** What one driver is given and sends. */
interface Driver {
  /** The answers to an acquisition, and how its statements are sent: a read and an update, or one batch. */
  readonly acquired?: readonly Answer[]
  readonly held?: Answer
  readonly by: readonly unknown[]
  /** The last statement, and how often the length of the lease is bound to it. */
  readonly update: RegExp
  readonly leases?: number
  /** Errors after which another attempt may succeed: a lost race, and a server that accepts no writes. */
  readonly retried: readonly (string | number)[]
  /** Another error. */
  readonly refusal: { readonly code: string | number; readonly message: string }
  /** Errors after which the statement may have been run. */
  readonly unanswered: readonly (string | number)[]
  /** The table and columns that TypeORM creates from the entity; `undefined` without `synchronize`. */
  readonly synchronized?: string
}

const DRIVERS: Record<keyof typeof FAKE_CLIENTS, Driver> = {
  hana: {
    by: [true, true],
    update: /^update "SHEDLOCK" set "LOCK_UNTIL" = case when "LOCK_UNTIL" > add_nano100\(/,
    retried: [301],
    refusal: { code: 258, message: 'insufficient privilege' },
    unanswered: [-10807, 149, 1031],
    synchronized: `SHEDLOCK: NAME nvarchar(64), LOCK_UNTIL timestamp, LOCKED_AT timestamp, LOCKED_BY nvarchar(255)`,
  },
  oracle: {
    by: [true, true],
    update: /^update "ANY"."SHEDLOCK" set "LOCK_UNTIL" = .* \+ numtodsinterval\(:1 \/ 1000, 'second'\)/,
    retried: ['ORA-00001', 'ORA-16000'],
    refusal: { code: 'ORA-01031', message: 'insufficient privileges' },
    unanswered: ['ORA-03113'],
  },
  spanner: {
    by: ['read', 'transaction'],
    update: /^update `shedlock` set .* interval @param0 millisecond\)/,
    retried: [10],
    refusal: { code: 7, message: 'PERMISSION_DENIED' },
    unanswered: [4, 14],
    synchronized: `shedlock: name string(64), lock_until timestamp, locked_at timestamp, locked_by string(255)`,
  },
  mssql: {
    acquired: [outcome('acquired')],
    held: outcome('held'),
    by: ['batch'],
    update: /^declare @outcome varchar\(20\) = .* dateadd\(millisecond, cast\(@\d+ % 86400000 as int\), /s,
    leases: 6,
    retried: [2627, 3906],
    refusal: { code: 229, message: 'The INSERT permission was denied' },
    unanswered: [40143],
  },
}

/** Connects TypeORM with a fake client that returns these answers in turn, and this one where a table's columns are read. */
async function connect(
  name: keyof typeof FAKE_CLIENTS,
  answers: Answer[],
  columns: (text: string) => Answer = () => ({ rows: name === 'spanner' ? SPANNER : [] }),
) {
  const sent: Request[] = []
  const { synchronized } = DRIVERS[name]
  const dataSource = await new DataSource({
    ...FAKE_CLIENTS[name]((request) => {
      if (/information_schema|where 1 = 0$/.test(request.text)) return columns(request.text)
      sent.push(request)
      const answer = answers.shift()
      if (!answer) throw new Error(`Not expected: ${request.text}`)
      return answer
    }),
    ...(synchronized && { entities: [shedLockEntity({ dialect: name })] }),
  }).initialize()
  afterTest(() => dataSource.destroy())
  const provider = typeOrmLockProvider(dataSource, { timeLimit: '10s' })
  const lock = () => provider.lock({ name: 'job', lockAtMostFor: '60d' })
  return { dataSource, provider, lock, sent, answers }
}

const names = Object.keys(DRIVERS) as (keyof typeof FAKE_CLIENTS)[]

describe.each(names)("TypeORM's driver for %s, with a fake client", (name) => {
  const { acquired = [FREE, TAKEN], held = HELD, leases = 2, ...driver } = DRIVERS[name]
  const unanswered = acquired.slice(0, -1)

  it('sends an acquisition, which commits by itself, with bound values', async () => {
    const { lock, sent } = await connect(name, [...acquired])
    expect(await lock()).toBeDefined()
    expect(sent.map(({ by }) => by)).toEqual(driver.by)
    expect(sent.at(-1)?.text).toMatch(driver.update)
    const values = Object.values(sent.at(-1)?.values as object)
    expect(values).toContain('job')
    expect(values.filter((value) => value === 60 * 86_400_000)).toHaveLength(leases)
  })

  it('retries after a lost race and on a server that accepts no writes, but not after another error', async () => {
    for (const code of driver.retried) {
      const busy = await connect(name, [{ code, message: 'try again' }, held])
      expect(await busy.lock()).toBeUndefined()
      expect(busy.answers).toEqual([])
    }
    const { lock } = await connect(name, [...unanswered, driver.refusal])
    await expect(lock()).rejects.toEqual(lockError('DATABASE_ERROR', String(driver.refusal.code)))
  })

  it.each(driver.unanswered)('releases the lock after error %s, as the update may have run', async (code) => {
    const lost = { code, message: 'the connection is gone' }
    const { lock, sent } = await connect(name, [...unanswered, lost, TAKEN])
    await expect(lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
    await eventually(() => expect(sent.length).toBe(acquired.length + 1))
    expect(sent.at(-1)?.text).toMatch(/^update /)
  })

  const { synchronized } = driver
  if (synchronized)
    it('creates the same columns from the entity as the migration', async () => {
      const { dataSource } = await connect(name, [])
      const { columns, tableName } = dataSource.getMetadata('ShedLock')
      const types = columns.map(({ databaseName, type, length, precision }) => {
        const column = { type: dataSource.driver.normalizeType({ type }), length, precision }
        return `${databaseName} ${dataSource.driver.createFullType(column as TableColumn)}`
      })
      expect(`${tableName}: ${types.join(', ')}`).toBe(synchronized)
    })
})

it.each([
  ['hana', 259, 260],
  ['oracle', 'ORA-00942', 'ORA-00904'],
  ['mssql', 208, 207],
] as const)('a select shows which table, column or privilege %s lacks', async (name, table, column) => {
  const message = 'there is none'
  const noTable = await connect(name, [], () => ({ code: table, message }))
  await expect(noTable.lock()).rejects.toMatchObject({ code: 'TABLE_MISSING' })
  const noColumn = await connect(name, [], (text) =>
    /locked_by/i.test(text) ? { code: column, message } : FREE,
  )
  await expect(noColumn.lock()).rejects.toEqual(
    lockError('TABLE_MISMATCH', /has no column 'locked_by' – add it as '.* not null'/i),
  )
  const denied = await connect(name, [FREE, FREE], () => DRIVERS[name].refusal)
  const fix = [expect.stringMatching(/^grant select, insert, update on .*shedlock. to /i)]
  expect(await denied.provider.table.check()).toMatchObject([{ code: 'PRIVILEGE_MISSING', fix }])
})

it('a connection of Oracle that broke is dropped from its pool', async () => {
  const { dataSource, lock } = await connect('oracle', [FREE, { code: 'ORA-03113', message: 'gone' }, TAKEN])
  const connection = (await dataSource.createQueryRunner().connect()) as {
    close(options?: object): Promise<void>
  }
  const close = jest.spyOn(connection, 'close')
  await expect(lock()).rejects.toEqual(lockError('DATABASE_ERROR'))
  expect(close).toHaveBeenCalledWith({ drop: true })
})

it('create() sends a schema change to Spanner, unless the table exists', async () => {
  const missing = await connect('spanner', [{ changed: 0 }, { changed: 0 }], () => FREE)
  await missing.provider.table.create()
  expect(missing.sent.map(({ by }) => by)).toEqual(['schema', 'transaction'])
  const existing = await connect('spanner', [])
  await existing.provider.table.create()
  expect(existing.sent).toEqual([])
})

it.each([
  ['other rows before the outcome', [{ audit_id: 7 }]],
  ['no outcome', []],
])('a lock of SQL Server is released if a trigger sent %s', async (_, rows) => {
  const { lock, provider, sent } = await connect('mssql', [{ rows }, { rows: [{ changed: 1 }] }])
  await expect(lock()).rejects.toEqual(lockError('INVALID_CLIENT', 'no trigger that returns rows'))
  await provider.drain()
  expect(sent).toHaveLength(2)
  expect(sent[1]?.text).toMatch(/^update .*@@rowcount/s)
})

it('a statement of SQL Server, which is connected to only then, is sent again if there was no connection', async () => {
  const refusal = { code: 0, message: 'connect ECONNREFUSED 127.0.0.1:1433' }
  const { lock, answers } = await connect('mssql', [refusal, outcome('held')])
  expect(await lock()).toBeUndefined()
  expect(answers).toEqual([])
})
