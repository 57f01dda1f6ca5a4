import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { openApp } from '../own-database'
import { JOBS, type Instance, type Job, type MessageFromInstance, type MessageToInstance } from './plan'

const { orm, server, url } = JSON.parse(process.argv[2] ?? '') as Instance
const QUERY = server === 'postgres' ? 'select 1 from pg_sleep(0.05)' : 'select sleep(0.05)'
const stop = new AbortController()
setMaxListeners(JOBS.length, stop.signal)

const send = (message: MessageFromInstance): void => {
  process.send?.(message)
}
/** In milliseconds, on a clock that all processes of this machine share and nobody sets. */
const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6

async function schedule({ name, every, runsFor, ...lock }: Job, executor: LockingTaskExecutor) {
  while (!stop.signal.aborted) {
    await sleep(every - (Date.now() % every), undefined, { signal: stop.signal })
    // A timer may fire a moment early.
    const due = Math.round(Date.now() / every) * every
    await executor
      .executeWithLock({ name, ...lock, slot: due }, async ({ signal }) => {
        send({ type: 'began', name, due, at: monotonic() })
        await sleep(runsFor, undefined, { signal }).catch(() => undefined)
        send({ type: 'ended', name, due, at: monotonic() })
      })
      .catch((error: unknown) => send({ type: 'failed', error: String(error) }))
  }
}

async function main(): Promise<void> {
  process.on('disconnect', () => process.exit(1))
  // Such as that of a lock that was lost.
  process.on('warning', (warning) => send({ type: 'failed', error: String(warning) }))
  const app = await openApp(orm, server, new URL(url), 10)
  const executor = new LockingTaskExecutor(app.provider)
  process.on('message', (message: MessageToInstance) => {
    if (message === 'stop') stop.abort()
    else if (message === 'flood')
      void Promise.allSettled(Array.from({ length: 1_600 }, () => app.query(QUERY)))
    else {
      globalThis.gc?.()
      const { heapUsed, rss } = process.memoryUsage()
      send({ type: 'memory', heap: heapUsed, rss })
    }
  })
  send({ type: 'ready' })
  await Promise.allSettled(JOBS.map((job) => schedule(job, executor)))
  await executor.shutdown()
  await app.close()
  process.exit(0)
}

void main()
