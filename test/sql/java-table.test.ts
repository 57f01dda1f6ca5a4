import { expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { JAVA_TABLES } from './table-faults'

const backends = availableBackends().filter(({ dialect }) => dialect in JAVA_TABLES)

describeBackends(backends)("a Java service's table on $name", (backend) => {
  it('lets a slot that failed run again beside microseconds, which another clock wrote', async () => {
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
  })
})
