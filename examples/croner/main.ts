import { Cron } from 'croner'
import { activeLock, LockingTaskExecutor } from 'shedlock-orm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { dataSource } from '../data-source'
import { sendReport } from '../report'

const executor = new LockingTaskExecutor(typeOrmLockProvider(dataSource))

const send = executor.wrap(
  { name: 'report', lockAtMostFor: '10m', lockAtLeastFor: '1s', onError: console.error },
  () => sendReport(activeLock()?.signal),
)

async function main(): Promise<void> {
  await dataSource.initialize()
  const job = new Cron('*/2 * * * * *', send)
  const shutdown = async (): Promise<void> => {
    job.stop()
    await executor.shutdown()
    await dataSource.destroy()
  }
  let ended: Promise<void> | undefined
  // npm and watchers send a second signal, which must not end the shutdown.
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void (ended ??= shutdown()))
  console.log('ready')
}

void main()
