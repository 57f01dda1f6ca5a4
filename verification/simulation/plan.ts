import fc from 'fast-check'
import { SHAPES, type Shape } from './model/model-dialect'

/** A job, which all processes run under one lock. */
export interface Job {
  readonly kind: 'plain' | 'slot' | 'until' | 'leader' | 'once'
  readonly lockAtMostFor: number
  /** `lockAtLeastFor` as a fraction of `lockAtMostFor`. */
  readonly atLeast: number
  /** How long the work takes, as a fraction of `lockAtMostFor`. */
  readonly work: number
  /** The longest interval between two attempts of one process. */
  readonly every: number
}

/** Returns the name of the lock of a job, by its index. */
export const nameOf = (job: number): string => `job-${job}`

const FAULTS = [
  ...['crash', 'pause', 'cut off', 'shut down', 'wall clock'],
  ...['stall', 'restart', 'read only', 'clock stops', 'clock back'],
  ...['job paused', 'rows deleted', 'network'],
] as const

export interface Fault {
  readonly kind: (typeof FAULTS)[number]
  /** When the fault strikes, in thousandths of `duration`. */
  readonly at: number
  /** The index of the process, modulo their number. */
  readonly who: number
  /** In milliseconds. */
  readonly length: number
}

/** The description of one world. The same plan always leads to the same events. */
export interface Plan {
  /** The seed of all random decisions that the plan does not list. */
  readonly seed: number
  readonly shape: Shape
  readonly processes: number
  readonly jobs: readonly Job[]
  /** How long faults may occur. */
  readonly duration: number
  readonly timeLimit: number
  readonly latency: number
  /**
   * Of a thousand messages, how many are late or lost or have their connection cut, and how many statements lose a race or find the
   * server busy.
   */
  readonly late: number
  readonly lost: number
  readonly cut: number
  readonly conflicts: number
  /** By how much the speeds of clocks differ, in millionths. */
  readonly drift: number
  readonly faults: readonly Fault[]
}

const often = <T>(value: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> => fc.oneof(fc.constant(value), other)

const job: fc.Arbitrary<Job> = fc.record({
  kind: fc.constantFrom<Job['kind']>('plain', 'plain', 'plain', 'slot', 'slot', 'until', 'leader', 'once'),
  lockAtMostFor: fc.constantFrom(400, 1_000, 3_000, 10_000, 600_000),
  atLeast: often(0, fc.constantFrom(0.1, 0.5, 1)),
  work: fc.constantFrom(0, 0.05, 0.2, 0.5, 0.9, 1.3),
  every: fc.constantFrom(100, 300, 1_000, 3_000),
})

const fault: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constantFrom(...FAULTS),
  at: fc.nat(999),
  who: fc.nat(7),
  length: fc.constantFrom(50, 400, 1_500, 4_000, 9_000, 15_000),
})

const plans: fc.Arbitrary<Plan> = fc.record({
  seed: fc.nat(),
  shape: fc.constantFrom(...SHAPES),
  processes: fc.integer({ min: 2, max: 6 }),
  jobs: fc.array(job, { minLength: 1, maxLength: 5, size: 'max' }),
  duration: fc.constantFrom(30_000, 60_000, 120_000, 240_000),
  timeLimit: fc.constantFrom(250, 1_000, 5_000),
  latency: fc.constantFrom(0.1, 0.5, 2, 20),
  late: often(0, fc.nat(100)),
  lost: often(0, fc.nat(50)),
  cut: often(0, fc.nat(50)),
  conflicts: often(0, fc.nat(100)),
  drift: fc.constantFrom(0, 0, 200),
  faults: often([], fc.array(fault, { maxLength: 40, size: 'max' })),
})

/** Derives a plan from a seed. */
export function planOf(seed: number): Plan {
  const [plan] = fc.sample(plans, { seed, numRuns: 1 })
  if (!plan) throw new Error('fast-check generated no plan.')
  return { ...plan, seed }
}

/**
 * Searches for a smaller plan that still fails, and returns the smallest one found within the time limit.
 *
 * @param limit in milliseconds
 */
export async function shrink(
  plan: Plan,
  fails: (plan: Plan) => Promise<boolean>,
  limit: number,
): Promise<Plan> {
  const deadline = performance.now() + limit
  const result = await fc.check(
    fc.asyncProperty(plans, async (smaller) => performance.now() > deadline || !(await fails(smaller))),
    { examples: [[plan]], numRuns: 1 },
  )
  return result.counterexample?.[0] ?? plan
}
