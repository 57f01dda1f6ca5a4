import { setTimeout as sleep } from 'node:timers/promises'
import type { DataSource } from 'typeorm'
import { beforeAll, expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import type { DialectName } from '../../src/sql/internal'
import { describeBackends } from '../backends'
import { everyClient, openedClient } from '../conformance/every-client'
import type { SessionSettings } from '../conformance/session-settings'
import { eventually } from '../eventually'
import { recorder } from '../core/recorder'

const job = { name: 'job', lockAtMostFor: '5m' }

interface Busy {
  /** How long a session waits for a row, which is less than a step of the lock may take. */
  readonly settings: SessionSettings
  readonly blocks: readonly string[]
  /** How an operator finds and cancels a statement that waits. Elsewhere none waits. */
  readonly find?: string
  readonly cancel?: (id: number) => string
}

const ON_MYSQL: Busy = {
  // Whole seconds.
  settings: { innodb_lock_wait_timeout: 1 },
  blocks: ['begin', "select * from shedlock where name = 'job' for update"],
}
const BUSY: Partial<Record<DialectName, Busy>> = {
  postgres: {
    settings: { lock_timeout: '200ms' },
    blocks: ['begin', 'lock table shedlock in access exclusive mode'],
    find: "select pid as id from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    cancel: (id) => `select pg_cancel_backend(${id})`,
  },
  mariadb: ON_MYSQL,
  mysql: ON_MYSQL,
  sqlite: { settings: {}, blocks: ['begin immediate'] },
}
const clients = everyClient().flatMap((client) => {
  const busy = BUSY[client.dialect]
  return busy ? [{ ...client, ...busy }] : []
})

/** Keeps everybody else from writing until it is ended. */
async function block(observer: DataSource, blocks: readonly string[]): Promise<() => Promise<void>> {
  const queryRunner = observer.createQueryRunner()
  for (const statement of blocks) await queryRunner.query(statement)
  return async () => {
    await queryRunner.query('rollback')
    await queryRunner.release()
  }
}

describeBackends(clients)('a lock that is free, and something in its way, by $title, $settings', (each) => {
  const client = openedClient(each, each.settings)

  beforeAll(async () => {
    await (await client.createProvider().lock(job))?.unlock()
  })

  it('is not reported as held: the task fails, because it is unknown whether it is', async () => {
    const { listener, heard } = recorder()
    const provider = client.createProvider({ timeLimit: '1500ms' })
    const executor = new LockingTaskExecutor(provider, { listeners: [listener] })
    const unblock = await block(client.observer, each.blocks)
    await expect(executor.executeWithLock(job, () => 'not run')).rejects.toMatchObject({
      code: 'TIMEOUT',
      lockName: 'job',
    })
    expect(heard).toEqual(['onLockAttempt job', 'onLockFailed job'])
    await unblock()
    await executor.shutdown()
    expect(await client.table.isHeld('job')).toBe(false)
  })

  it('is no fault of the table, whose check waits for it', async () => {
    const provider = client.createProvider()
    expect(await provider.table.check()).toEqual([])
    const unblock = await block(client.observer, each.blocks)
    const [findings] = await Promise.all([provider.table.check(), sleep(300).then(unblock)])
    expect(findings).toEqual([])
  })

  it('is acquired although an operator cancels a statement that waits', async () => {
    const provider = client.createProvider()
    // After a call without an answer, the next one looks for what is in its way, and waits for nothing, until a write succeeds.
    await (await provider.lock(job))?.unlock()
    const unblock = await block(client.observer, each.blocks)
    const locking = provider.lock(job)
    const { find, cancel } = each
    if (find && cancel)
      await eventually(async () => {
        const [waiting] = await client.observer.query<{ id: number }[]>(find)
        if (!waiting) throw new Error('no statement waits')
        await client.observer.query(cancel(waiting.id)).catch(() => undefined)
      })
    await unblock()
    const lock = await locking
    expect(lock).toBeDefined()
    await lock?.unlock()
  })
})
