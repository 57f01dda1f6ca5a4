import { LockingTaskExecutor } from 'shedlock-orm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { dataSource } from './data-source.js'
import { sendReport } from './report.js'

/** An instance of an app with all schedulers: the files that it is given. They have what a reader has, under the same names. */
async function main(files: readonly string[]): Promise<void> {
  await dataSource.initialize()
  const provider = typeOrmLockProvider(dataSource)
  const executor = new LockingTaskExecutor(provider)
  Object.assign(globalThis, { dataSource, executor, provider, sendReport })
  for (const file of files) await import(file)
}

void main(process.argv.slice(2))
