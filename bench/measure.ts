import type { Operation } from './operation'
import { median } from './quantile'
import { timeOne, type Timed } from './time-one'

export interface Measured {
  readonly scenario: string
  readonly who: string
  /** The median of the rounds' medians, in microseconds. */
  readonly median: number
  /** The lowest and the highest median of a round. */
  readonly low: number
  readonly high: number
  /** The median of the rounds' 99th percentiles, in microseconds. */
  readonly p99: number
  readonly samples: number
  /** The median of each round, so that operations that ran in the same round can be compared. */
  readonly rounds: readonly number[]
}

/** Runs every operation briefly in each round, so that other load on the machine affects all of them equally. */
export async function measure(
  operations: readonly Operation[],
  rounds: number,
  time: number,
): Promise<Measured[]> {
  const all = operations.map((): Timed[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, operation] of operations.entries())
      all[index]?.push(await timeOne(operation, time, round === 0))
  return operations.map(({ scenario, who }, index) => {
    const timed = all[index] ?? []
    const medians = timed.map(({ p50 }) => p50)
    return {
      scenario,
      who,
      median: median(medians),
      low: Math.min(...medians),
      high: Math.max(...medians),
      p99: median(timed.map(({ p99 }) => p99)),
      samples: timed.reduce((sum, { samples }) => sum + samples, 0),
      rounds: medians.map((one) => Math.round(one * 10) / 10),
    }
  })
}
