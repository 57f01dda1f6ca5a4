import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends, testBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { eventually } from '../eventually'
import { itIf } from '../it-if'
import { lockRow } from './lock-row'
import { JAVA_TABLES } from './table-faults'

/** How a Java service says it, with the database's clock: what differs between the databases. */
const JAVA = {
  postgres: {
    now: `timezone('utc', current_timestamp)`,
    plus: (now: string, ms: number) => `${now} + interval '${ms} milliseconds'`,
  },
  mysql: {
    now: 'utc_timestamp(3)',
    plus: (now: string, ms: number) => `timestampadd(microsecond, ${ms * 1_000}, ${now})`,
  },
  sqlite: {
    now: `strftime('%Y-%m-%d %H:%M:%f', 'now')`,
    plus: (_: string, ms: number) => `strftime('%Y-%m-%d %H:%M:%f', 'now', '${ms / 1_000} seconds')`,
  },
} as const

const backends = availableBackends('sqlite', 'postgres', 'mariadb', 'mysql')

describeBackends(backends)('beside a Java service on $name', (backend) => {
  let dataSource: DataSource
  const { dialect } = backend
  const { now, plus } = JAVA[dialect === 'postgres' || dialect === 'sqlite' ? dialect : 'mysql']

  beforeEach(async () => {
    ;({ dataSource } = await openDatabase(backend))
    await typeOrmLockProvider(dataSource).table.create()
  })

  /** What it sends to acquire and to release, and whether it got the lock. */
  const java = (owner: string) => ({
    acquire: async (name: string, ms: number): Promise<boolean> => {
      await dataSource.query(
        `update shedlock set lock_until = ${plus(now, ms)}, locked_at = ${now}, locked_by = '${owner}'
         where name = '${name}' and lock_until <= ${now}`,
      )
      const rows: unknown[] = await dataSource.query(
        `select 1 from shedlock where name = '${name}' and locked_by = '${owner}' and lock_until > ${now}`,
      )
      return rows.length > 0
    },
    release: async (name: string): Promise<void> => {
      await dataSource.query(
        `update shedlock set lock_until = ${now} where name = '${name}' and locked_by = '${owner}'`,
      )
      // A column with milliseconds rounds the time up, so the lock may be held for a moment longer.
      const free = `select 1 from shedlock where name = '${name}' and lock_until <= ${now}`
      await eventually(async () => expect(await dataSource.query(free)).toHaveLength(1))
    },
  })

  // The second one ends its owner in a UUID, as ours end in one.
  const services = ['java-host', 'java/0b4f6b0e-7a39-4d0e-9a51-1d8a6b9d7c11'].map((owner) => java(owner))

  it('does not acquire a slot again that a Java service ran last, however that run ended', async () => {
    const provider = typeOrmLockProvider(dataSource)
    const slot = Math.floor(Date.now() / 1_000) * 1_000 - 3_000
    const job = { name: 'job', lockAtMostFor: '1h', slot, untilSucceeded: true }
    for (const service of services) {
      await dataSource.query('delete from shedlock')
      await (await provider.lock(job))?.unlock({ outcome: 'failed' })
      expect(await service.acquire('job', 60_000)).toBe(true)
      expect(await provider.lock(job)).toBeUndefined()
      await service.release('job')
      expect((await provider.table.find('job'))?.lastRun).toBeUndefined()
      expect(await provider.lock(job)).toBeUndefined()
      expect(await provider.lock({ ...job, slot: slot - 1_000 })).toBeUndefined()
      const overdue = await provider.table.overdue({ job: '1h' }, { mustHaveSucceeded: true })
      expect(overdue).toMatchObject([{ state: 'failed', why: 'not known to have succeeded' }])
    }
  })

  it('leaves nothing in the row that disturbs a Java service, which acquires and releases as always', async () => {
    const provider = typeOrmLockProvider(dataSource, { lockedBy: 'x'.repeat(218) })
    for (const outcome of ['succeeded', 'failed', 'unused', undefined] as const) {
      const lock = await provider.lock({ name: 'job', lockAtMostFor: '1h' })
      for (const service of services) expect(await service.acquire('job', 60_000)).toBe(false)
      await lock?.unlock({ outcome })
      for (const service of services) {
        expect(await service.acquire('job', 60_000)).toBe(true)
        expect(await provider.lock({ name: 'job', lockAtMostFor: '1h' })).toBeUndefined()
        await service.release('job')
      }
    }
  })

  itIf(dialect !== 'sqlite', 'times with microseconds')(
    'what was seen is compared in milliseconds, and its microseconds do not matter',
    async () => {
      const change = dialect === 'postgres' ? ['alter column', 'type timestamp'] : ['modify', 'datetime']
      await dataSource.query(`alter table shedlock ${change[0]} lock_until ${change[1]}(6)`)
      const provider = typeOrmLockProvider(dataSource)
      for (const micros of ['000001', '123499', '123500', '123999', '999999']) {
        const until = `'2999-12-31 23:59:59.${micros}'`
        await dataSource.query('delete from shedlock')
        await dataSource.query(
          `insert into shedlock (name, lock_until, locked_at, locked_by) values ('job', ${until}, ${now}, 'java')`,
        )
        const seen = await lockRow(provider, 'job')
        const ends = (change: number) => ({ ...seen, lockUntil: new Date(seen.lockUntil.getTime() + change) })
        expect(await provider.table.release(ends(-2))).toBe(false)
        expect(await provider.table.release(ends(2))).toBe(false)
        expect(await provider.table.release(seen)).toBe(true)
      }
    },
  )

  it('a row that is held for ever is released if it is the one that was seen', async () => {
    const provider = typeOrmLockProvider(dataSource)
    const forEver = dialect === 'postgres' || dialect === 'sqlite' ? 'infinity' : '9999-12-31 23:59:59.999'
    await dataSource.query(
      `insert into shedlock (name, lock_until, locked_at, locked_by) values ('job', '${forEver}', ${now}, 'java')`,
    )
    const seen = await lockRow(provider, 'job')
    const earlier = { ...seen, lockUntil: new Date(seen.lockUntil.getTime() - 60_000) }
    expect(await provider.table.release(earlier)).toBe(false)
    expect(await provider.table.release(seen)).toBe(true)
  })
})

testBackends(availableBackends().filter(({ dialect }) => dialect in JAVA_TABLES))(
  "a Java service's table on $name lets a slot that failed run again beside microseconds, which another clock wrote",
  async (backend) => {
    const { dataSource } = await openDatabase(backend)
    await dataSource.query(JAVA_TABLES[backend.dialect] ?? '')
    const oracle = backend.dialect === 'oracle'
    if (['mysql', 'mariadb'].includes(backend.dialect))
      await dataSource.query('alter table shedlock modify locked_at timestamp(6) not null')
    const at = (time: string): string => `${oracle ? 'timestamp ' : ''}'2024-05-05 ${time}'`
    await dataSource.query(
      `insert into shedlock values ('job', ${at('11:00:00')}, ${at('10:00:00.000456')}, 'host/1/12000 failed')`,
    )
    const provider = typeOrmLockProvider(dataSource)
    const seen = await provider.table.find('job')
    const slot = Number(seen?.lockedAt)
    const job = { name: 'job', lockAtMostFor: '1h', slot, untilSucceeded: true }
    const lock = await provider.lock(job)
    expect(await lock?.fencingToken()).toBe(slot + 1)
    await lock?.unlock({ outcome: 'succeeded' })
    expect(await provider.lock(job)).toBeUndefined()
  },
)
