import { expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends, testBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { everyQuestion } from '../conformance/every-question'
import { observeLockTable } from '../conformance/lock-table-observer'
import { lockError } from '../lock-error'
import { KEEPING_TRIGGER } from './keeping-trigger'

type Obstacle = readonly [what: string, statements: readonly string[]]

const alter = (...changes: string[]) => changes.map((change) => `alter table shedlock ${change}`)
const VIEW: Obstacle = [
  'TABLE_KIND: is a view (shedlock)',
  [...alter('rename to other'), 'create view shedlock as select * from other'],
]
const POSTGRES: readonly Obstacle[] = [
  VIEW,
  [
    "KEY_MISSING: has no primary key and no unique index on 'name' alone, so two callers could hold one lock",
    [
      `create collation ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
      ...alter('drop constraint shedlock_pkey'),
      'create unique index on shedlock (name collate ignore_case)',
    ],
  ],
  ['TABLE_KIND: is unlogged, so a crash empties it (shedlock)', alter('set unlogged')],
  ['OBSTACLE: has a rule (no_update)', ['create rule no_update as on update to shedlock do instead nothing']],
  ['OBSTACLE: has a trigger (keep)', KEEPING_TRIGGER.postgres],
]
const MYSQL: readonly Obstacle[] = [
  VIEW,
  ['TABLE_KIND: has another engine than InnoDB (MyISAM)', alter('engine = MyISAM')],
  ['OBSTACLE: has a trigger (keep)', KEEPING_TRIGGER.mariadb],
]
const cases = availableBackends().flatMap((backend) => {
  const obstacles = { postgres: POSTGRES, mariadb: MYSQL, mysql: MYSQL }[backend.name as 'postgres'] as
    readonly Obstacle[] | undefined
  return (obstacles ?? []).map(([what, statements]) => ({ backend, what, statements }))
})

testBackends(cases)('the check on $backend.name reports $what', async ({ backend, what, statements }) => {
  const { dataSource } = await openDatabase(backend, { ...migrated(), poolSize: 1 })
  const { table } = typeOrmLockProvider(dataSource)
  expect(await table.check()).toEqual([])
  for (const statement of statements) await dataSource.query(statement)
  const findings = await table.check()
  expect(findings.map(({ code, message }) => `${code}: ${message}`)).toContainEqual(
    expect.stringMatching(
      new RegExp(`^${what.replace(': ', ": Table 'shedlock' ").replaceAll(/[()]/g, '\\$&')} – `),
    ),
  )
})

const column = (type: string) => `alter table shedlock add c_${type.replace(/\W.*/, '')} int ${type}`
const STRINGS = 'alter table shedlock modify name varbinary(64) not null, modify locked_by text not null'
/** What others may do, because every lock still has its row. */
const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  postgres: [
    'alter table shedlock rename to other',
    'create table shedlock (like other, primary key (name)) partition by hash (name)',
    'create table shedlock_0 partition of shedlock for values with (modulus 1, remainder 0)',
    ...['null', 'not null default 1', 'generated always as (1) stored'].map(column),
  ],
  mariadb: [
    ...['null', 'not null default 1', 'unique auto_increment', 'as (1) stored'].map(column),
    STRINGS,
    'alter table shedlock add system versioning',
  ],
  mysql: [
    ...['null', 'not null default 1', 'unique auto_increment', 'as (1) stored not null'].map(column),
    STRINGS,
  ],
}

testBackends(availableBackends(...Object.keys(HARMLESS)))(
  'columns of others that need no value, other types, partitions and versions, on $name are no finding, and locks go on',
  async (backend) => {
    const { dataSource } = await openDatabase(backend, migrated())
    for (const statement of HARMLESS[backend.name] ?? []) await dataSource.query(statement)
    const provider = typeOrmLockProvider(dataSource)
    expect(await provider.table.check()).toEqual([])
    await everyQuestion(provider, observeLockTable(dataSource, backend.dialect))
  },
)

describeBackends(availableBackends('postgres'))('a trigger before each statement, on $name,', (backend) => {
  const before = (event: string, body: string) => [
    `create function before() returns trigger language plpgsql as $$ begin ${body} end $$`,
    `create trigger before before ${event} on shedlock for each statement execute function before()`,
  ]

  it.each(['insert', 'update'])('is an error if it writes at an %s, and locks say so', async (event) => {
    const { dataSource } = await openDatabase(backend, migrated())
    const provider = typeOrmLockProvider(dataSource, { timeLimit: '2s' })
    const job = { name: 'job', lockAtMostFor: '1m' }
    await dataSource.query('create table audit (at timestamp)')
    await (await provider.lock(job))?.unlock()
    const writes = 'insert into audit values (now()); return null;'
    for (const statement of before(event, writes)) await dataSource.query(statement)
    const [worst] = await provider.table.check()
    const trigger = 'a trigger that writes before the statement'
    expect(worst).toMatchObject({
      ...{ code: 'REFUSED', severity: 'error' },
      message: expect.stringMatching(new RegExp(`refuses ${event} on .*${trigger}.* – let the app end`)),
    })
    const lock = async () => {
      if (event === 'insert') await provider.lock({ ...job, name: 'other' })
      else await (await provider.lock(job))?.unlock()
    }
    await expect(lock()).rejects.toEqual(lockError('TIMEOUT', new RegExp(`ms: open.*${trigger}.*doctor`)))
  })

  it('is a warning otherwise, and locks go on', async () => {
    const { dataSource } = await openDatabase(backend, migrated())
    for (const statement of before('insert or update', 'return null;')) await dataSource.query(statement)
    const provider = typeOrmLockProvider(dataSource)
    expect(await provider.table.check()).toMatchObject([{ code: 'OBSTACLE', severity: 'warning' }])
    await everyQuestion(provider, observeLockTable(dataSource, backend.dialect))
  })
})

testBackends(availableBackends('postgres'))(
  'a temporary table on $name is reported as the lock table, but not if it only hides that from a session',
  async (backend) => {
    const { dataSource } = await openDatabase(backend, { ...migrated(), poolSize: 1 })
    await dataSource.query('create temporary table shedlock (like shedlock including all)')
    expect(await typeOrmLockProvider(dataSource, { ownConnections: 0 }).table.check()).toEqual([])
    const { table } = typeOrmLockProvider(dataSource, { schema: 'pg_temp', ownConnections: 0 })
    const message = expect.stringContaining('is temporary, so only one session sees it')
    expect(await table.check()).toContainEqual(expect.objectContaining({ code: 'TABLE_KIND', message }))
  },
)
