import type { LockError } from '../../src/core/errors'
import { shedlock } from '../../src/prisma/prisma-lock-provider'
import { adapterFor, connect } from './adapters'

/** An app that ends after a lock whose acquisition got no answer. It prints what it did. */
async function main(backend: string, url: string, timeout: string | undefined): Promise<void> {
  const prisma = (await connect(adapterFor(backend), url)).$extends(shedlock({ timeLimit: '30s' }))
  const job = { name: 'warm', lockAtMostFor: '5m' }
  await prisma.$executeWithLock(job, () => undefined)
  const cut = prisma.$executeWithLock({ ...job, name: 'to be cut' }, () => 'not run')
  console.log(await cut.then(String, (error: unknown) => (error as LockError).code))
  if (timeout) console.log((await prisma.$lockingTaskExecutor.shutdown({ timeout })).length)
  await prisma.$disconnect()
  console.log('disconnected')
}

const [backend = '', url = '', timeout] = process.argv.slice(2)
void main(backend, url, timeout)
