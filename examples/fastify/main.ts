import { Cron } from 'croner'
import fastify from 'fastify'
import { activeLock, LockingTaskExecutor } from 'shedlock-orm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { dataSource } from '../data-source'
import { sendReport } from '../report'

const server = fastify()
const executor = new LockingTaskExecutor(typeOrmLockProvider(dataSource))

const send = executor.wrap(
  { name: 'report', lockAtMostFor: '10m', lockAtLeastFor: '1s', onError: console.error },
  () => sendReport(activeLock()?.signal),
)

server.addHook('onReady', async () => {
  await dataSource.initialize()
  const job = new Cron('*/2 * * * * *', send)
  server.addHook('onClose', async () => {
    job.stop()
    await executor.shutdown('10s')
    await dataSource.destroy()
  })
})

process.once('SIGTERM', () => void server.close())
void server.listen({ port: Number(process.env['PORT'] ?? 3000) }).then(() => {
  console.log('ready')
})
