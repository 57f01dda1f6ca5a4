import { Verrou } from '@verrou/core'
import { knexStore } from '@verrou/core/drivers/knex'
import knex from 'knex'
import { LockingTaskExecutor } from 'shedlock-orm'
import { asMany } from './fraction'
import { openProvider } from './open-provider'
import { answerWith, heap, inOwnProcess } from './own-process'
import { location } from './raw-clients'

/** Bytes of heap for each lock or task. */
export interface Memory {
  readonly heldLock: number
  readonly runningTask: number
  readonly runningTaskWithKeepAlive: number
  readonly heldLockOfVerrou: number
}

const LOCKS = asMany(10_000)

export function memory(): Promise<Memory> {
  return inOwnProcess(__filename)
}

async function inThisProcess(): Promise<Memory> {
  const { url, remove } = location('sqlite')
  const { provider, close } = await openProvider('sqlite', url, 1, { make: { expired: [] } })
  const executor = new LockingTaskExecutor(provider)
  const kept: unknown[] = []
  const each = async (take: (name: string) => Promise<unknown>): Promise<number> => {
    const before = heap()
    for (let count = 0; count < LOCKS; count++) kept.push(await take(String(kept.length)))
    return Math.round((heap() - before) / LOCKS)
  }
  /** Resolves when the task is running. It then runs for good. */
  const run = (name: string, keepAlive: boolean) =>
    new Promise((resolve, reject) => {
      executor
        .executeWithLock({ name, lockAtMostFor: '1h', keepAlive }, (context) => {
          resolve(context)
          return new Promise(() => undefined)
        })
        .catch(reject)
    })
  const client = knex({ client: 'better-sqlite3', connection: { filename: url }, useNullAsDefault: true })
  const store = { driver: knexStore({ connection: client, tableName: 'verrou_bench' }) }
  const verrou = new Verrou({ default: 'sql', stores: { sql: store } })
  const lockOfVerrou = async (name: string) => {
    const lock = verrou.createLock(name, '1h')
    await lock.acquireImmediately()
    return lock
  }
  await each((name) => provider.lock({ name, lockAtMostFor: '1h' }))
  await each(lockOfVerrou)
  const answer: Memory = {
    heldLock: await each((name) => provider.lock({ name, lockAtMostFor: '1h' })),
    runningTask: await each((name) => run(name, false)),
    runningTaskWithKeepAlive: await each((name) => run(name, true)),
    heldLockOfVerrou: await each(lockOfVerrou),
  }
  await client.destroy()
  await close()
  remove()
  return answer
}

if (require.main === module) void answerWith(inThisProcess)
