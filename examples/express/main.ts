import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { LockingTaskExecutor } from 'shedlock-orm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { dataSource } from '../data-source'
import { sendReport } from '../report'

const executor = new LockingTaskExecutor(typeOrmLockProvider(dataSource))
const app = express()

/** Called by a scheduler outside, which may call twice, or several instances. */
app.post('/jobs/report', async (_request, response) => {
  const configuration = { name: 'report', lockAtMostFor: '10m', lockAtLeastFor: '3s' }
  const { executed } = await executor.executeWithLock(configuration, ({ signal }) => sendReport(signal))
  response.json({ executed })
})

async function shutdown(server: Server): Promise<void> {
  // No new connections; requests in flight are answered.
  const closed = new Promise((resolve) => server.close(resolve))
  await executor.shutdown()
  await closed
  await dataSource.destroy()
}

async function main(): Promise<void> {
  await dataSource.initialize()
  const server = app.listen(Number(process.env['PORT'] ?? 3000), () => {
    console.log(`ready ${(server.address() as AddressInfo).port}`)
  })
  let ended: Promise<void> | undefined
  // npm and watchers send a second signal, which must not end the shutdown.
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void (ended ??= shutdown(server)))
}

void main()
