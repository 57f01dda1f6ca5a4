/**
 * Lets simulated processes compete for locks, in one world after another: `npm run simulate -- --seed 1 --seconds 60`.
 * Stops at the first world in which a property does not hold and prints its trace. That world's `--seed` reproduces it.
 * It is bundled first, and is then three times as fast, because calls between files cost nothing.
 */
import { number, parse, runHarness } from '../options'
import { planOf, shrink, type Plan } from './plan'
import { simulate, type Outcome, type SimulationOptions } from './simulate'

const USAGE = 'npm run simulate -- [--seed N] [--seconds 60] [--worlds N] [--sqlite] [--trace] [--json]'

/** How many lines of a trace are printed, counted from its end. */
const LONGEST_TRACE = 150

async function main(args: readonly string[]): Promise<void> {
  const { values } = parse(args, {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    seconds: { type: 'string' },
    worlds: { type: 'string' },
    sqlite: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  })
  const { worlds = 'Infinity', seconds = values.worlds ? 'Infinity' : '60' } = values
  const options: SimulationOptions = { sqlite: values.sqlite, traced: values.trace }
  // A lock whose disposal fails emits a warning, which is frequent here.
  process.removeAllListeners('warning')
  // Stack traces are not needed, and take a third of the time.
  if (!values.trace) Error.stackTraceLimit = 0
  const started = performance.now()
  const elapsed = (): number => (performance.now() - started) / 1_000
  const total = { worlds: 0, acquisitions: 0, refusals: 0, errors: 0, events: 0, simulated: 0 }
  if (!values.json) console.log(`Seed ${values.seed}`)
  let failed: { plan: Plan; outcome: Outcome } | undefined
  for (let seed = number(values.seed); !failed; seed++) {
    const plan = planOf(seed)
    const outcome = await simulate(plan, options)
    total.worlds++
    for (const key of ['acquisitions', 'refusals', 'errors', 'events', 'simulated'] as const)
      total[key] += outcome[key]
    if (outcome.violation) failed = { plan, outcome }
    if (values.trace) console.log(outcome.trace.join('\n'))
    if (total.worlds >= number(worlds) || elapsed() >= number(seconds)) break
  }
  const report = { ...total, seconds: elapsed(), violation: failed?.outcome.violation }
  if (values.json) console.log(JSON.stringify(report))
  else {
    const { acquisitions, refusals, errors, events, simulated } = total
    console.log(
      `${total.worlds} worlds, ${acquisitions} acquisitions, ${refusals} refusals, ${errors} errors, ${events} events, ${(simulated / 86_400_000).toFixed(1)} simulated days in ${elapsed().toFixed(1)} s: ${Math.round(acquisitions / elapsed())} acquisitions per second`,
    )
    if (!failed) console.log('Every property held.')
    else {
      console.log(`${failed.outcome.violation?.property}: failed, and is shrunk for a minute at most …`)
      await explain(failed.plan, options)
    }
  }
  if (failed) process.exitCode = 1
}

/** Shrinks the world that failed as far as possible, and prints its trace. */
async function explain(plan: Plan, options: SimulationOptions): Promise<void> {
  const property = (await simulate(plan, options)).violation?.property
  const fails = async (smaller: Plan): Promise<boolean> =>
    (await simulate(smaller, options)).violation?.property === property
  const small = await shrink(plan, fails, 60_000)
  const { violation, trace } = await simulate(small, { ...options, traced: true })
  const until = trace.filter((line) => Number.parseFloat(line) * 1_000 <= (violation?.at ?? 0) + 1)
  console.log(until.slice(-LONGEST_TRACE).join('\n'))
  console.log(`\n${violation?.property}: ${violation?.message}`)
  console.log(`World: ${JSON.stringify(small)}`)
  console.log(`To repeat: npm run simulate -- --seed ${plan.seed} --worlds 1`)
}

void runHarness(USAGE, main)
