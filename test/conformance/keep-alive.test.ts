import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { observeLockTable } from './lock-table-observer'

const backends = availableBackends().filter(({ shared }) => shared)

describeBackends(backends)('a lock that is kept alive on $name', (backend) => {
  it('keeps others out for far longer than lockAtMostFor, and is free after its task', async () => {
    const { dataSource: one, connect } = await openDatabase(backend)
    const other = await connect()
    await observeLockTable(one, backend.dialect).createTable()
    const job = { name: 'job', lockAtMostFor: '6s' }
    const rival = new LockingTaskExecutor(typeOrmLockProvider(other))
    let refused = 0
    let extensions = 0
    const listeners = [{ onLockExtended: () => extensions++ }]
    const result = await new LockingTaskExecutor(typeOrmLockProvider(one), { listeners }).executeWithLock(
      { ...job, keepAlive: true },
      async ({ signal }) => {
        // Each at half of a lease: the first lease is over when the third comes.
        while (extensions < 3 && !signal.aborted) {
          // Another instance, so not inside of this task's lock: it has a provider of its own.
          const { executed } = await rival.executeWithLock(job, () => undefined)
          expect(executed).toBe(false)
          refused++
          await sleep(20)
        }
        return signal.aborted
      },
    )
    expect(result).toEqual({ executed: true, value: false })
    expect(refused).toBeGreaterThan(10)
    expect(await rival.executeWithLock(job, () => 'free')).toEqual({ executed: true, value: 'free' })
  })
})
