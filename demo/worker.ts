/** One instance of an app: a scheduler that fires every second, and a job that only one instance may run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Cron } from 'croner'
import { LockingTaskExecutor } from 'shedlock-orm'
import { EventLog } from './event-log'
import { openLockProvider } from './lock-provider'
import { fromEnvironment, JOB, RUN_TIME, TOO_LATE } from './settings'
import type { News, Order } from './worker-process'

const tell = (news: News): void => {
  process.send?.(news)
}

async function main(): Promise<void> {
  const settings = fromEnvironment()
  const events = await EventLog.open(settings)
  const executor = new LockingTaskExecutor(await openLockProvider(settings))

  const job = new Cron('* * * * * *', { catch: true, paused: true }, async () => {
    // The second that the run was scheduled for; croner's currentRun() is the moment at which its timer fired.
    const tick = Math.floor(Date.now() / 1000) * 1000
    const late = (): boolean => Date.now() - tick > TOO_LATE
    if (late()) {
      tell({ kind: 'late', tick })
      return
    }
    try {
      const result = await executor.executeWithLock(JOB, async () => {
        // On a busy machine acquiring takes time. By now another instance may have run this tick.
        if (late()) return 'late'
        await events.write('begin', settings.process, tick)
        tell({ kind: 'running', tick })
        await sleep(RUN_TIME)
        await events.write('end', settings.process, tick)
        return 'ran'
      })
      tell({ kind: result.executed ? result.value : 'skipped', tick })
    } catch (error) {
      tell({ kind: 'error', tick, message: (error as Error).message })
    }
  })

  const stop = async (): Promise<void> => {
    job.stop()
    while (job.isBusy()) await sleep(20)
    process.exit()
  }
  process.on('message', (order: Order) => {
    if (order === 'start') job.resume()
    else void stop()
  })
  process.on('disconnect', () => void stop())
  if (!process.connected) await stop()
  // Ctrl-C reaches the whole process group, but only the main process decides when to stop.
  process.on('SIGINT', () => undefined)
  tell({ kind: 'ready' })
}

void main()
