import { setTimeout as sleep } from 'node:timers/promises'
import { LockingTaskExecutor } from 'shedlock-orm'
import { createShedLockMigration, typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { DataSource } from 'typeorm'

// sql.js is SQLite in WebAssembly, in memory. Your app has a database that its instances share.
const dataSource = new DataSource({ type: 'sqljs', migrations: [createShedLockMigration()] })
await dataSource.initialize()
await dataSource.runMigrations()

/** One of four instances of an app: each has an executor of its own. */
function instance(name) {
  const executor = new LockingTaskExecutor(typeOrmLockProvider(dataSource, { lockedBy: name }))
  return async (due) => {
    const result = await executor.executeWithLock(
      { name: 'send-report', lockAtMostFor: '10s', slot: due },
      async () => {
        console.log(`${name} sends the report`)
        await sleep(300)
      },
    )
    if (!result.executed) console.log(`${name} skips: ${result.reason}`)
  }
}

const instances = ['one', 'two', 'three', 'four'].map(instance)
const ticks = Number(process.env.TICKS ?? 5)
for (let tick = 1; tick <= ticks; tick++) {
  console.log(`tick ${tick}`)
  const due = new Date()
  // Their clocks differ a little.
  await Promise.all(instances.map((fire) => sleep(Math.random() * 600).then(() => fire(due))))
  await sleep(500)
}
await dataSource.destroy()
