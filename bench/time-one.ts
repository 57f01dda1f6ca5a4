import { Bench } from 'tinybench'
import { quantile } from './quantile'
import type { Operation } from './operation'

/** The times of one operation in one round, in microseconds. */
export interface Timed {
  readonly p50: number
  readonly p99: number
  readonly samples: number
}

/** Milliseconds of warm-up before the first round and before each further one. A JVM compiles later than Node.js. */
const WARM_UP = { here: [100, 10], elsewhere: [3_000, 10] } as const

/** Runs one operation for this many milliseconds. */
export async function timeOne(operation: Operation, time: number, isFirst: boolean): Promise<Timed> {
  const { run, timed } = operation
  const warmUp = WARM_UP[timed ? 'elsewhere' : 'here'][isFirst ? 0 : 1]
  if (timed) {
    await timed(warmUp)
    const all = await timed(time)
    return { p50: quantile(all, 0.5), p99: quantile(all, 0.99), samples: all.length }
  }
  const bench = new Bench({ time, warmupTime: warmUp, warmupIterations: 5, iterations: 20, throws: true })
  bench.add(operation.who, async () => {
    await run()
  })
  const [task] = await bench.run()
  if (!task || !('latency' in task.result)) throw new Error(`No result for ${JSON.stringify(operation)}`)
  const { p50, p99, samplesCount } = task.result.latency
  return { p50: p50 * 1000, p99: p99 * 1000, samples: samplesCount }
}
