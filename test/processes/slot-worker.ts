import { Cron } from 'croner'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { LockingTaskExecutor, slotOf } from '../../src/core/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'

/** An instance whose job is due each second. It prints the slots of its runs, that a slot was run already, and its errors. */
async function main(options: DataSourceOptions): Promise<void> {
  const dataSource = await new DataSource(options).initialize()
  const executor = new LockingTaskExecutor(typeOrmLockProvider(dataSource))
  const job = new Cron('* * * * * *', { timezone: 'UTC', paused: true }, async (self: Cron) => {
    const slot = slotOf(self)
    const lock = { name: 'tick', lockAtMostFor: '1m', slot }
    const result = await executor.executeWithLock(lock, () => undefined).catch(String)
    if (typeof result === 'string') console.log(result)
    else if (result.executed) console.log(slot.toISOString())
    else if (result.reason === 'already-run') console.log(result.reason)
  })
  process.once('disconnect', () => {
    job.stop()
    void executor.shutdown().then(() => dataSource.destroy())
  })
  job.resume()
}

void main(JSON.parse(process.argv[2] ?? '') as DataSourceOptions)
