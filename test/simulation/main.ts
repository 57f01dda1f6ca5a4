/**
 * Lets simulated processes compete for locks, in one world after another: `npm run simulate -- --seed 1 --acquisitions 100000`.
 * Stops at the first world in which a property does not hold and prints its trace. That world's `--seed` reproduces it.
 */
import { parseArgs } from 'node:util'
import { bytesLeftByEachRun } from './memory'
import { planOf, shrink, type Plan } from './plan'
import { simulate, type Outcome, type SimulationOptions } from './simulate'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    acquisitions: { type: 'string' },
    seconds: { type: 'string' },
    worlds: { type: 'string' },
    sqlite: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
  },
})
const number = (text: string | undefined): number =>
  text === undefined ? Infinity : Number(text.replaceAll('_', ''))
const firstSeed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)
const limits = {
  acquisitions: number(
    values.acquisitions ?? ((values.worlds ?? values.seconds) === undefined ? '100000' : undefined),
  ),
  worlds: number(values.worlds),
  seconds: number(values.seconds),
}
const options: SimulationOptions = { sqlite: values.sqlite, traced: values.trace }

/** The number of bytes that a run may leave in memory. More is a leak. */
const MOST_BYTES_LEFT = 400

/** How many lines of a trace are printed, counted from its end. */
const LONGEST_TRACE = 150

async function main(): Promise<void> {
  // A lock whose disposal fails emits a warning, which is frequent here.
  process.removeAllListeners('warning')
  // Stack traces are not needed, and take a third of the time.
  if (!values.trace) Error.stackTraceLimit = 0
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const total = { worlds: 0, acquisitions: 0, refusals: 0, errors: 0, events: 0, simulated: 0 }
  if (!values.json) console.log(`Seed ${firstSeed}`)
  const left = values.worlds === undefined ? await bytesLeftByEachRun(3_000) : 0
  if (left > MOST_BYTES_LEFT) {
    console.log(`memory: each run leaves ${Math.round(left)} bytes behind`)
    process.exitCode = 1
    return
  }
  let failed: { plan: Plan; outcome: Outcome } | undefined
  for (let seed = firstSeed; !failed; seed++) {
    const plan = planOf(seed)
    const outcome = await simulate(plan, options)
    total.worlds++
    for (const key of ['acquisitions', 'refusals', 'errors', 'events', 'simulated'] as const)
      total[key] += outcome[key]
    if (outcome.violation) failed = { plan, outcome }
    if (values.trace) console.log(outcome.trace.join('\n'))
    if (
      total.worlds >= limits.worlds ||
      total.acquisitions >= limits.acquisitions ||
      seconds() >= limits.seconds
    )
      break
  }
  const report = {
    ...total,
    simulated: total.simulated / 1000,
    seconds: Number(seconds().toFixed(1)),
    rate: Math.round(total.acquisitions / seconds()),
    cpu: Number((process.cpuUsage().user / 1e6).toFixed(1)),
    heap: Math.round(process.memoryUsage().heapUsed / 2 ** 20),
    violation: failed?.outcome.violation,
    seed: failed?.plan.seed,
  }
  if (values.json) console.log(JSON.stringify(report))
  else {
    const { worlds, acquisitions, refusals, errors, events, simulated, rate } = report
    console.log(
      `${worlds} worlds, ${acquisitions} acquisitions, ${refusals} refusals, ${errors} errors, ${events} events, ${(simulated / 86_400).toFixed(1)} simulated days in ${report.seconds} s: ${rate} acquisitions per second`,
    )
    if (failed) await explain(failed.plan)
    else console.log('Every property held.')
  }
  if (failed) process.exitCode = 1
}

/** Shrinks the world that failed as far as possible, and prints its trace. */
async function explain(plan: Plan): Promise<void> {
  const property = (await simulate(plan, options)).violation?.property
  const fails = async (smaller: Plan): Promise<boolean> =>
    (await simulate(smaller, options)).violation?.property === property
  const small = values['no-shrink'] ? plan : await shrink(plan, fails, 60_000)
  const { violation, trace } = await simulate(small, { ...options, traced: true })
  const until = trace.filter((line) => Number.parseFloat(line) * 1_000 <= (violation?.at ?? 0) + 1)
  console.log(until.slice(-LONGEST_TRACE).join('\n'))
  console.log(`\n${violation?.property}: ${violation?.message}`)
  console.log(`World: ${JSON.stringify(small)}`)
  console.log(`To repeat: npm run simulate -- --seed ${plan.seed} --worlds 1`)
}

void main()
