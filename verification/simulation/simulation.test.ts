import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { simulateBroken } from './find-mutants'
import { mutants } from './mutants'
import { planOf } from './plan'
import { simulate, type Outcome, type SimulationOptions } from './simulate'

async function worlds(first: number, count: number, options?: SimulationOptions): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (let seed = first; seed < first + count; seed++) outcomes.push(await simulate(planOf(seed), options))
  return outcomes
}

// Stack traces are not needed, and take a third of the time.
const { stackTraceLimit } = Error
beforeAll(() => {
  Error.stackTraceLimit = 0
})
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit
})

describe('the simulation', () => {
  it('finds no violation in thousands of acquisitions', async () => {
    const outcomes = await worlds(8, 3)
    expect(outcomes.flatMap(({ violation }) => violation ?? [])).toEqual([])
    expect(outcomes.reduce((sum, { acquisitions }) => sum + acquisitions, 0)).toBeGreaterThan(1_000)
  })

  it('repeats the same events for the same seed', async () => {
    const [once] = await worlds(5, 1, { traced: true })
    const [again] = await worlds(5, 1, { traced: true })
    // Owners are random, but nothing depends on them.
    const traceOf = (outcome?: Outcome): string | undefined =>
      outcome?.trace.join('\n').replace(/\/[\da-f]{8}\b/g, '/owner')
    expect(traceOf(again)).toBe(traceOf(once))
  })

  it.each([
    ['a held row is acquired if its update comes after another one', 'exclusion'],
    ['a release and an extension do not check the owner', 'leases'],
  ])('notices a broken rule: %s', (title, property) => {
    const broken = mutants.filter(({ breaks }) => breaks === title)
    expect(broken.map((each) => simulateBroken(each, '60').violation?.property)).toEqual([property])
  })
})
