import { Bench } from 'tinybench'
import type { Operation } from './operation'

export interface Measured {
  readonly scenario: string
  readonly who: string
  /** Median over the rounds of each round's median, in microseconds. */
  readonly median: number
  /** The lowest and the highest median of a round. */
  readonly low: number
  readonly high: number
  /** Median over the rounds of each round's 99th percentile, in microseconds. */
  readonly p99: number
  readonly samples: number
  /** The median of each round, so that what ran side by side can be compared round by round. */
  readonly rounds: readonly number[]
}

/** Runs every operation a little in each round, so that what else the machine does hits all of them alike. */
export async function measure(
  operations: readonly Operation[],
  rounds: number,
  time: number,
): Promise<Measured[]> {
  const medians = operations.map((): number[] => [])
  const tails = operations.map((): number[] => [])
  const samples = operations.map(() => 0)
  for (let round = 0; round < rounds; round++) {
    const bench = new Bench({
      time,
      warmupTime: round === 0 ? 100 : 10,
      warmupIterations: 5,
      iterations: 20,
      throws: true,
    })
    operations.forEach(({ run }, index) =>
      bench.add(String(index), async () => {
        await run()
      }),
    )
    await bench.run()
    for (const task of bench.tasks) {
      const { result } = task
      if (!('latency' in result))
        throw new Error(`No result for ${JSON.stringify(operations[Number(task.name)])}`)
      const index = Number(task.name)
      medians[index]?.push(result.latency.p50 * 1000)
      tails[index]?.push(result.latency.p99 * 1000)
      samples[index] = (samples[index] ?? 0) + result.latency.samplesCount
    }
  }
  return operations.map(({ scenario, who }, index) => {
    const all = medians[index] ?? []
    return {
      scenario,
      who,
      median: median(all),
      low: Math.min(...all),
      high: Math.max(...all),
      p99: median(tails[index] ?? []),
      samples: samples[index] ?? 0,
      rounds: all.map((one) => Math.round(one * 10) / 10),
    }
  })
}

/** Of these values, in any order; NaN of none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** @param share 0.99 is the 99th percentile */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN
}
