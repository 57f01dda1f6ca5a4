import { describe, expect, it } from '@jest/globals'
import { dialects, lockTableNames, SqlLockProvider, type DialectName } from '../../src/sql/internal'
import { CLIENT_DIALECTS, createShedLockMigration, type QueryRunnerLike } from '../../src/typeorm/internal'
import { givenQueryRunner } from '../../src/typeorm/query-runner-client'

/** What each database calls the types of the migration: of a text, and of a time. */
const TYPES: Readonly<Record<DialectName, readonly [text: string, time: string]>> = {
  postgres: ['character varying(64)', 'timestamp(3) without time zone'],
  cockroachdb: ['character varying(64)', 'timestamp(3) without time zone'],
  mysql: ['varchar(64)', 'datetime(3)'],
  mariadb: ['varchar(64)', 'datetime(3)'],
  sqlite: ['varchar(64)', 'datetime(3)'],
  mssql: ['nvarchar', 'datetime2(3)'],
  oracle: ['VARCHAR2', 'TIMESTAMP(3)'],
  hana: ['NVARCHAR', 'TIMESTAMP'],
  spanner: ['STRING(64)', 'TIMESTAMP'],
}

/** Not a database: it knows whether there is a lock table, and refuses what makes a second one, as all of them do. */
function fakeQueryRunner(name: DialectName, isThere: boolean) {
  const { lockUntil, lockedAt, ...texts } = lockTableNames({}, dialects[name]).columnNames
  const [text, time] = TYPES[name]
  const column = (column_name: string, column_type: string) => ({ column_name, column_type })
  const columns = [
    ...Object.values(texts).map((each) => column(each, text)),
    ...[lockUntil, lockedAt].map((each) => column(each, time)),
  ]
  const made: string[] = []
  const run = (sql: string): Promise<{ records: unknown[]; affected?: number }> => {
    if (/^select/i.test(sql)) return Promise.resolve({ records: isThere ? columns : [] })
    if (sql.includes('create table')) {
      if (isThere && !sql.includes('if not exists'))
        return Promise.reject(new Error('There is already an object with this name.'))
      if (!isThere) made.push(sql)
      isThere = true
    }
    return Promise.resolve({ records: [], affected: 0 })
  }
  const type = Object.entries(CLIENT_DIALECTS).find(([, dialect]) => dialect === name)?.[0] ?? ''
  const queryRunner: QueryRunnerLike = {
    query: run,
    ...(name === 'spanner' && { updateDDL: (sql: string) => run(sql).then(() => undefined) }),
    connect: () => Promise.resolve({}),
    release: () => Promise.resolve(),
    dataSource: {
      isInitialized: true,
      options: { type },
      driver: undefined,
      createQueryRunner: () => queryRunner,
    },
  }
  return { queryRunner, made }
}

const WAYS: Readonly<Record<string, (name: DialectName, queryRunner: QueryRunnerLike) => Promise<void>>> = {
  'the migration of TypeORM': (_, queryRunner) => new (createShedLockMigration())().up(queryRunner),
  'createTable()': (name, queryRunner) => {
    const client = givenQueryRunner(queryRunner, name)
    return new SqlLockProvider(client, dialects[name]).table.create()
  },
}
const cases = Object.keys(WAYS).flatMap((way) => Object.keys(TYPES).map((name) => [way, name] as const))

describe.each(cases as [string, DialectName][])('%s on %s', (way, name) => {
  it('makes the table', async () => {
    const { queryRunner, made } = fakeQueryRunner(name, false)
    await WAYS[way]?.(name, queryRunner)
    expect(made).toHaveLength(1)
  })

  it('leaves a table that is there as it is', async () => {
    const { queryRunner, made } = fakeQueryRunner(name, true)
    await WAYS[way]?.(name, queryRunner)
    expect(made).toEqual([])
  })
})
