import cron from 'node-cron'
import { shedLockCoordinator } from 'shedlock-orm/node-cron'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { dataSource } from '../data-source'
import { sendReport } from '../report'

const coordinator = shedLockCoordinator(typeOrmLockProvider(dataSource))

async function main(): Promise<void> {
  await dataSource.initialize()
  cron.setRunCoordinator(coordinator)
  cron.schedule('*/2 * * * * *', () => sendReport(), {
    name: 'report',
    distributed: true,
    distributedLease: 10 * 60_000,
  })
  console.log('ready')
}

async function shutdown(): Promise<void> {
  // node-cron cannot stop a run, so it is waited for; then its lock is free.
  await coordinator.shutdown()
  await cron.shutdown()
  await dataSource.destroy()
}

let ended: Promise<void> | undefined
// npm and watchers send a second signal, which must not end the shutdown.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void (ended ??= shutdown()))
void main()
