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

const job = new Cron('*/2 * * * * *', { paused: true }, send)
server.addHook('onReady', async () => {
  await dataSource.initialize()
  job.resume()
})
// Before Fastify waits for requests in flight, which may run a job.
server.addHook('preClose', async () => {
  job.stop()
  await executor.shutdown()
})
server.addHook('onClose', () => dataSource.destroy())

let ended: Promise<void> | undefined
// npm and watchers send a second signal, which must not end the shutdown.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void (ended ??= server.close()))
void server.listen({ port: Number(process.env['PORT'] ?? 3000) }).then(() => {
  console.log('ready')
})
