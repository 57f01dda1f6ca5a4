import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { OFFSETS } from '../conformance/zone-offsets'

/** Tables with as much wrong as one table can have, and a lock that is held for nine minutes. */
const POSTGRES = {
  table: `create table shedlock (name varchar(20), lock_until timestamptz, locked_at timestamptz, locked_by varchar(20))`,
  hold: `insert into shedlock values ('job', now() + interval '9 minutes', now(), 'somebody')`,
  zone: (zone: string) => `set time zone '${zone}'`,
  lease: `select name, round(extract(epoch from lock_until) * 1000)::text as until, round(extract(epoch from locked_at) * 1000)::text as at from shedlock`,
}
const MYSQL = {
  table: `create table shedlock (name varchar(20) collate utf8mb4_general_ci, lock_until timestamp(3) null, locked_at timestamp(3) null, locked_by varchar(20))`,
  hold: `insert into shedlock values ('job', utc_timestamp(3) + interval 9 minute, utc_timestamp(3), 'somebody')`,
  zone: (zone: string) => `set time_zone = '${zone}'`,
  lease: `select name, cast(lock_until as char) as until, cast(locked_at as char) as at from shedlock`,
}
const WRONG: Readonly<Record<string, typeof POSTGRES>> = {
  postgres: POSTGRES,
  mysql: MYSQL,
  mariadb: MYSQL,
}
const backends = availableBackends().filter(({ dialect }) => dialect in WRONG)

describeBackends(backends)('The SQL of check() on $name', (backend) => {
  const { table, hold, zone, lease } = WRONG[backend.dialect] ?? POSTGRES
  let services: DataSource
  let operator: DataSource

  beforeEach(async () => {
    // One connection, so that what is set for its session stays.
    const opened = await openDatabase(backend, { poolSize: 1 })
    services = opened.dataSource
    operator = await opened.connect({ poolSize: 1 })
  })

  /** Or its offset, for servers that know no names. */
  const named = async (name: string): Promise<string> =>
    operator.query(zone(name)).then(
      () => name,
      () => OFFSETS[name] ?? '',
    )

  it.each([
    ['America/New_York', 'UTC'],
    ['Asia/Tokyo', 'America/New_York'],
  ])(
    'for services in %s, run from top to bottom and once more in %s: each statement once, and no lease moves',
    async (serviceZone, operatorZone) => {
      await services.query(zone(await named(serviceZone)))
      await operator.query(zone(await named(operatorZone)))
      await services.query(table)
      await services.query(hold)
      const before = await services.query<unknown[]>(lease)

      const findings = await typeOrmLockProvider(services, { ownConnections: 0 }).table.check()
      const fix = findings.flatMap((finding) => finding.fix)
      expect(findings.map(({ severity }) => severity)).toEqual(
        findings.map(({ severity }) => severity).sort(),
      )
      expect(new Set(fix).size).toBe(fix.length)
      for (const statement of fix) await operator.query(statement)
      expect(await services.query(lease)).toEqual(before)
      expect(await typeOrmLockProvider(services, { ownConnections: 0 }).table.check()).toEqual([])

      // An index that is there already is refused, and nothing else happens.
      for (const statement of fix) await operator.query(statement).catch(() => undefined)
      expect(await services.query(lease)).toEqual(before)
      expect(await typeOrmLockProvider(services, { ownConnections: 0 }).table.check()).toEqual([])
      expect(
        await typeOrmLockProvider(services, { ownConnections: 0 }).lock({ name: 'job', lockAtMostFor: '1m' }),
      ).toBeUndefined()
    },
  )
})
