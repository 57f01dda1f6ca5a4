import * as Sentry from '@sentry/node'
import nodeCron from 'node-cron'
import { shedLockCoordinator } from 'shedlock-orm/node-cron'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'

Sentry.init({ dsn: process.env['SENTRY_DSN'] ?? '' })
const cron = Sentry.cron.instrumentNodeCron(nodeCron)
cron.setRunCoordinator(shedLockCoordinator(typeOrmLockProvider(dataSource)))
cron.schedule('*/15 * * * *', () => sendReport(), {
  name: 'report', // of the lock and of the monitor
  distributed: true,
  distributedLease: 840_000,
})
