import { expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'

type Obstacle = readonly [what: string, statements: readonly string[]]

const BOTH: readonly [Obstacle, Obstacle, Obstacle] = [
  [
    'OBSTACLE: has a column of others that needs a value (tenant)',
    ['alter table shedlock add tenant int not null'],
  ],
  ['OBSTACLE: has a check (short)', ["alter table shedlock add constraint short check (name <> 'no')"]],
  [
    'OBSTACLE: has a foreign key (known)',
    [
      'create table job (name varchar(64) primary key)',
      'alter table shedlock add constraint known foreign key (name) references job (name)',
    ],
  ],
]
const POSTGRES: readonly Obstacle[] = [
  ...BOTH,
  ['TABLE_KIND: is unlogged, so a crash empties it (shedlock)', ['alter table shedlock set unlogged']],
  [
    'TABLE_KIND: is temporary, so only one session sees it (shedlock)',
    ['create temporary table shedlock (like shedlock including all)'],
  ],
  [
    'TABLE_KIND: is a foreign table (shedlock)',
    [
      'alter table shedlock rename to other',
      'create foreign data wrapper nowhere',
      'create server elsewhere foreign data wrapper nowhere',
      'create foreign table shedlock (name varchar(64) not null, lock_until timestamp(3) not null, locked_at timestamp(3) not null, locked_by varchar(255) not null) server elsewhere',
    ],
  ],
  ['OBSTACLE: has a rule (no_update)', ['create rule no_update as on update to shedlock do instead nothing']],
  [
    'OBSTACLE: has a trigger (keep)',
    [
      'create function keep() returns trigger language plpgsql as $$ begin return null; end $$',
      'create trigger keep before update on shedlock for each row execute function keep()',
    ],
  ],
  [
    'TABLE_KIND: is a view (shedlock)',
    ['alter table shedlock rename to other', 'create view shedlock as select * from other'],
  ],
]
const MYSQL: readonly Obstacle[] = [
  BOTH[0],
  BOTH[1],
  [
    'OBSTACLE: has a foreign key (known)',
    [
      'create table job (name varchar(64) character set utf8mb4 collate utf8mb4_bin primary key)',
      'alter table shedlock add constraint known foreign key (name) references job (name)',
    ],
  ],
  ['TABLE_KIND: has another engine than InnoDB (MyISAM)', ['alter table shedlock engine = MyISAM']],
  [
    'OBSTACLE: has a trigger (keep)',
    ['create trigger keep before update on shedlock for each row set new.locked_at = old.locked_at'],
  ],
]
const cases = availableBackends().flatMap((backend) => {
  const obstacles = { postgres: POSTGRES, mariadb: MYSQL, mysql: MYSQL }[backend.name as 'postgres'] as
    readonly Obstacle[] | undefined
  return (obstacles ?? []).map(([what, statements]) => ({ backend, what, statements }))
})

describeBackends(cases)('the check on $backend.name', ({ backend, what, statements }) => {
  it(`reports ${what}`, async () => {
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
    const fixes = findings.flatMap(({ fix }) => fix)
    for (const statement of fixes) await dataSource.query(statement)
    if (fixes.length > 0) expect(await table.check()).toEqual([])
  })
})

const postgres = availableBackends().filter(({ name }) => name === 'postgres')

describeBackends(postgres)('a partitioned table on $name', (backend) => {
  it('keeps locks, and is no finding', async () => {
    const { dataSource } = await openDatabase(backend, migrated())
    for (const statement of [
      'alter table shedlock rename to other',
      'create table shedlock (like other, primary key (name)) partition by hash (name)',
      'create table shedlock_0 partition of shedlock for values with (modulus 1, remainder 0)',
    ])
      await dataSource.query(statement)
    const provider = typeOrmLockProvider(dataSource)
    expect(await provider.table.check()).toEqual([])
    const job = { name: 'job', lockAtMostFor: '1m' }
    const lock = await provider.lock(job)
    expect(await provider.lock(job)).toBeUndefined()
    await lock?.unlock()
    expect(await provider.lock(job)).toBeDefined()
  })
})
