import { fork } from 'node:child_process'
import { once } from 'node:events'
import { LockingTaskExecutor } from 'shedlock-orm'
import { openProvider } from './open-provider'
import { location } from './raw-clients'

/** Bytes of heap for each. */
export interface Memory {
  readonly heldLock: number
  readonly runningTask: number
  readonly runningTaskWithKeepAlive: number
}

const LOCKS = 10_000

/** In a process of its own, since only there nothing else takes memory. */
export async function memory(): Promise<Memory> {
  const child = fork(__filename, { execArgv: [...process.execArgv, '--expose-gc'] })
  const [answer] = (await once(child, 'message')) as [Memory]
  await once(child, 'exit')
  return answer
}

async function inThisProcess(): Promise<Memory> {
  const { url, remove } = location('sqlite')
  const { provider, close } = await openProvider('sqlite', url, 1, { expired: [] })
  const executor = new LockingTaskExecutor(provider)
  const kept: unknown[] = []
  const each = async (take: (name: string) => Promise<unknown>): Promise<number> => {
    const before = heap()
    for (let count = 0; count < LOCKS; count++) kept.push(await take(`${String(kept.length)}`))
    return Math.round((heap() - before) / LOCKS)
  }
  /** Resolves when the task runs, which it does from then on. */
  const run = (name: string, keepAlive: boolean) =>
    new Promise((resolve, reject) => {
      executor
        .executeWithLock({ name, lockAtMostFor: '1h', keepAlive }, (context) => {
          resolve(context)
          return new Promise(() => undefined)
        })
        .catch(reject)
    })
  await each((name) => provider.lock({ name, lockAtMostFor: '1h' }))
  const answer: Memory = {
    heldLock: await each((name) => provider.lock({ name, lockAtMostFor: '1h' })),
    runningTask: await each((name) => run(name, false)),
    runningTaskWithKeepAlive: await each((name) => run(name, true)),
  }
  await close()
  remove()
  return answer
}

function heap(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

if (require.main === module) {
  void inThisProcess().then((answer) => {
    process.send?.(answer)
    process.exit()
  })
}
