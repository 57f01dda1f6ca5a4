import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LockingTaskExecutor } from '../../src/core/internal'
import { SqlLockProvider } from '../../src/sql/internal'
import { Random } from '../processes/app/random'
import { Database } from './database'
import { modelDialect } from './model/model-dialect'
import { SimulatedSqlClient } from './network'
import { SimulatedProcess } from './simulated-process'
import { World } from './world'

/**
 * Returns how many bytes each run leaves in memory, if a job starts its next run inside its own task on a network that loses some
 * messages.
 */
export async function bytesLeftByEachRun(runs: number): Promise<number> {
  const world = new World()
  const end = world.begin()
  const dialect = modelDialect('postgres')
  const database = new Database(world, dialect, new Random(1), 1)
  const process = new SimulatedProcess(world, 'A', 1, 1)
  const sql = new SimulatedSqlClient(process, database, { latency: 0.1, late: 0, lost: 5, cut: 5 })
  const provider = world.as(process, () => new SqlLockProvider(sql, dialect, { timeLimit: 250 }))
  const executor = new LockingTaskExecutor(provider, { listeners: [{ onUnlockFailed: () => undefined }] })
  const configuration = { name: 'job', lockAtMostFor: 1_000, keepAlive: true }
  let ran = 0
  const again = (): void => {
    const next = process.sleep(1).then(() => executor.executeWithLock(configuration, again))
    next.then(
      ({ executed }) => {
        if (executed) ran++
        else again()
      },
      () => again(),
    )
  }
  world.at(0, process, 'other', again)
  const run = async (until: number): Promise<number> => {
    // The second condition ends the run even if the lock is broken.
    while (ran < until && world.now < runs * 1_000) await world.run(world.now + 1_000)
    return heapUsed()
  }
  // Measure only the second half, because the compiler also allocates memory at first.
  const warm = await run(runs / 2)
  const hot = await run(runs)
  process.isDead = true
  end()
  return (hot - warm) / (runs / 2)
}

function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
