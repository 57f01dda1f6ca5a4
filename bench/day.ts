import { LockingTaskExecutor } from '../src/core/internal'
import type { Cancel } from '../src/core/time'
import { SimulatedProcess } from '../verification/simulation/simulated-process'
import { World } from '../verification/simulation/world'
import { asMany } from './fraction'
import { answerWith, heap, inOwnProcess } from './own-process'
import { simulatedSqlite } from './simulated-sqlite'

/** The results for a quarter of the day. */
export interface Quarter {
  /** Bytes of heap at the end of the quarter. */
  readonly heap: number
  /** Processor seconds that the quarter took. */
  readonly cpu: number
}

const [HOUR, NAMES, INSTANCES] = [3_600_000, asMany(10_000), 2]

/** Timers that outlast the day never fire, and cancelled ones would fill the queue of events. */
class ProcessForADay extends SimulatedProcess {
  override after(pause: number, callback: () => void): Cancel {
    return pause > 25 * HOUR ? () => undefined : super.after(pause, callback)
  }
}

/**
 * Simulates a day of virtual time in one process. Each of ten thousand jobs runs once an hour for 40 seconds under `keepAlive`, with
 * one extension, and a second instance skips it. The hour before is a warm-up.
 */
export function day(): Promise<Quarter[]> {
  return inOwnProcess(__filename)
}

async function inThisProcess(): Promise<Quarter[]> {
  const world = new World()
  world.begin()
  const newProvider = simulatedSqlite(world)
  const counts = { ran: 0, skipped: 0 }
  for (let instance = 0; instance < INSTANCES; instance++) {
    const process = new ProcessForADay(world, String(instance), instance, 1)
    const executor = new LockingTaskExecutor(world.as(process, newProvider))
    const tick = async (name: string): Promise<void> => {
      world.at(HOUR, process, 'other', () => void tick(name))
      const configuration = { name, lockAtMostFor: '1m', keepAlive: true } as const
      const { executed } = await executor.executeWithLock(configuration, () => process.sleep(40_000))
      counts[executed ? 'ran' : 'skipped']++
    }
    for (let index = 0; index < NAMES; index++)
      world.at((index * HOUR) / NAMES + instance, process, 'other', () => void tick(`job ${String(index)}`))
  }
  await world.run(HOUR)
  const quarters: Quarter[] = []
  for (let hour = 7; hour <= 25; hour += 6) {
    const before = { ...counts }
    const began = process.cpuUsage()
    await world.run(hour * HOUR)
    const { user, system } = process.cpuUsage(began)
    if ([counts.ran - before.ran, counts.skipped - before.skipped].some((count) => count !== 6 * NAMES))
      throw new Error(`It ran and skipped ${JSON.stringify([before, counts])}.`)
    quarters.push({ heap: heap(), cpu: (user + system) / 1e6 })
  }
  return quarters
}

if (require.main === module) void answerWith(inThisProcess)
