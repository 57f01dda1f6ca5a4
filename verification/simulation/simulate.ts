import { Random } from '../workers/random'
import { Database } from './database'
import { Faults } from './faults'
import { Instance } from './instance'
import { modelDialect } from './model/model-dialect'
import { nameOf, type Plan } from './plan'
import { SimulatedProcess } from './simulated-process'
import { Witness } from './witness'
import { Work } from './work'
import { World } from './world'

export interface SimulationOptions {
  readonly traced?: boolean
  /** Whether to run the statements of SQLite, whichever the plan names. */
  readonly sqlite?: boolean
}

export type Outcome = Awaited<ReturnType<typeof simulate>>

/** In milliseconds after the last fault, by when everything late has arrived and everything has been cleaned up. */
const QUIET = 90_000
const SHUTDOWN = 90_000
/** In milliseconds, longer than the longest silence of a connection and the longest lease, after which no clean-up continues. */
const LONGEST_LEASE = 1_700_000

/** Simulates one world, from the start of its processes to their end. */
export async function simulate(planned: Plan, options: SimulationOptions = {}) {
  const plan: Plan = options.sqlite ? { ...planned, shape: 'sqlite' } : planned
  const world = new World(options)
  const end = world.begin()
  const chance = new Random(plan.seed)
  const dialect = modelDialect(plan.shape)
  const rate = (): number => 1 + (plan.drift / 1e6) * (chance.next() - 0.5)
  const database = new Database(world, dialect, new Random(plan.seed + 1), rate())
  database.conflicts = plan.conflicts / 1_000
  database.busy = plan.conflicts / 2_000
  const witness = new Witness(world, database, plan.drift / 1e6)
  database.observer = witness
  plan.jobs.forEach(({ lockAtMostFor, atLeast, kind }, index) => {
    const keeps = kind !== 'leader' && kind !== 'once'
    const lockAtLeastFor = keeps ? Math.floor(lockAtMostFor * atLeast) : 0
    witness.expect(nameOf(index), { lockAtMostFor, lockAtLeastFor })
  })

  let born = 0
  const start = (name: string): Instance => {
    const process = new SimulatedProcess(world, name, plan.seed + 100 + born++, rate())
    const instance = world.as(process, () => new Instance(process, plan, database, witness, dialect))
    plan.jobs.forEach((job, index) => {
      world.at(0, process, 'other', () => void new Work(instance, nameOf(index), job).repeat())
    })
    return instance
  }
  const faults = new Faults(world, database, plan, start)

  const unhandled = (reason: unknown): void => {
    world.fail(
      'no unhandled rejection',
      reason instanceof Error ? (reason.stack ?? reason.message) : String(reason),
    )
  }
  process.on('unhandledRejection', unhandled)
  try {
    await world.run(plan.duration)
    if (!world.violation) faults.end()
    await world.run(plan.duration + QUIET)
    if (!world.violation) checkLiveness(world, witness, plan, database)
    if (!world.violation) faults.shutDown()
    await world.run(plan.duration + QUIET + SHUTDOWN)
    if (!world.violation) checkEnd(world, witness, faults.instances)
    await world.run(plan.duration + QUIET + SHUTDOWN + LONGEST_LEASE)
    if (!world.violation) checkTimers(world, faults.instances)
    witness.judge()
  } finally {
    end()
    process.off('unhandledRejection', unhandled)
    database.table.close()
  }
  const { violation, events, now, lines } = world
  const { acquisitions, refusals, errors } = witness
  return { violation, acquisitions, refusals, errors, events, simulated: now, trace: lines ?? [] }
}

/** Checks that every lock is acquired again after the faults, unless a dead process has left it held. */
function checkLiveness(world: World, witness: Witness, plan: Plan, database: Database): void {
  plan.jobs.forEach(({ kind, atLeast, lockAtMostFor }, index) => {
    const name = nameOf(index)
    // If the database's clock is far behind, the slots of correct clocks are too far ahead.
    if (database.behind > 50_000 && kind !== 'plain' && kind !== 'leader') return
    if (lockAtMostFor > 10_000 && (atLeast > 0 || kind === 'leader' || kind === 'once')) return
    if ((witness.lastTaken.get(name) ?? 0) < plan.duration && !witness.isLeftHeld(name))
      world.fail('liveness', `${name} was not acquired in ${QUIET / 1000} s without faults`)
  })
}

/** Checks that nothing is left after the shutdown. */
function checkEnd(world: World, witness: Witness, instances: readonly Instance[]): void {
  for (const { process, pending } of instances) {
    if (process.isDead) continue
    if (pending > 0) world.fail('nothing hangs', `${process.name} has ${pending} calls that never ended`)
  }
  checkTimers(world, instances)
  for (const row of witness.heldByNobody())
    world.fail('no lock is left behind', `${row.name} is held by ${row.locked_by} until ${row.lock_until}`)
}

function checkTimers(world: World, instances: readonly Instance[]): void {
  for (const { process } of instances)
    if (!process.isDead && process.timers > 0)
      world.fail('no timer is left', `${process.name} has ${process.timers} timers after its shutdown`)
}
