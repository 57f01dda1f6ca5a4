import type { Case } from './cases'
import { EVERY, runOf, type Instance, type Item, type State } from './state'

// How the cases are staged: what they do to the instances, each at the right moment.

/** What a case is played on. Everything rejects when the visitor interrupts it. */
export interface Stage {
  readonly state: State
  /** Waits until something is found. It searches again whenever the state changes. */
  readonly until: <Found>(find: () => Found | undefined) => Promise<Found>
  /** Waits for a time of the shared clock. */
  readonly at: (time: number) => Promise<void>
  /** Says what happens now. */
  readonly say: (sentence: string) => void
}

export interface Outcome {
  readonly figure: string
  readonly why: string
}

/** In milliseconds: how long after a change of its settings an instance surely uses them. */
const SETTLED = 200
/** How long before a due time an instance is paused, so that its timer has not fired. */
const EARLY = 300
/** How long after its due time a run is killed. */
const MIDDLE = 1_000

const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`
const runs = (number: number): string => `${number} ${number === 1 ? 'run' : 'runs'}`

/** The first due time after a time. */
const dueAfter = (time: number): number => (Math.floor(time / EVERY) + 1) * EVERY

interface Run {
  readonly instance: Instance
  readonly item: Item & { readonly due: number }
}

/** Returns the runs of the due times from this one on, in the order in which they began. */
function runsFrom({ instances }: State, from: number): Run[] {
  return instances
    .flatMap((instance) => instance.items.map((item) => ({ instance, item })))
    .filter((run): run is Run => run.item.look.startsWith('run') && (run.item.due ?? 0) >= from)
    .sort((one, other) => one.item.from - other.item.from)
}

/** Returns the instance to which a case does something before it is known which one runs. */
function lastOf({ instances }: State): Instance {
  const last = instances.at(-1)
  if (!last) throw new Error('There are no instances')
  return last
}

/** After a kill in the middle of a run: until another instance runs the job. */
export async function takeOver({ state, until }: Stage, killed: Instance): Promise<Outcome> {
  const { from } = await until(() => killed.items.findLast(({ look }) => look === 'killed'))
  const { instance, item } = await until(() => runsFrom(state, 0).find((run) => run.item.from > from))
  const { lockAtMostFor, keepAlive } = state.settings
  return {
    figure: `Nobody ran for ${seconds(item.from - from)}`,
    why:
      `${killed.name} could not release its lock, so it stayed until lockAtMostFor, ${String(lockAtMostFor)}, was over. Then ${instance.name} took over. ` +
      (keepAlive
        ? 'keepAlive extends a short lock for as long as its holder lives, so a run may still take longer.'
        : 'It must be longer than the longest run; with keepAlive it can be short.'),
  }
}

async function kill(stage: Stage): Promise<Outcome> {
  const { state, until, at, say } = stage
  for (let due = dueAfter(Date.now() + SETTLED); ; due = dueAfter(Date.now())) {
    const { instance, item } = await until(() => runsFrom(state, due)[0])
    say(`${instance.name} runs the job, which takes 3 s. It will be killed after one.`)
    await at(item.due + MIDDLE)
    // On a busy machine the moment may be over.
    if (!runOf(instance)) continue
    instance.alive = false
    say(`${instance.name} was killed in the middle of its run. Its lock stays, and the others skip.`)
    return takeOver(stage, instance)
  }
}

async function twoClocks({ state, until, say }: Stage): Promise<Outcome> {
  const late = lastOf(state)
  late.late = true
  say(`The clock of ${late.name} is 1 s late. The job takes 0.8 s, so the lock is free again by then.`)
  const isCured = state.settings.lockAtLeastFor !== '0s'
  for (let first = dueAfter(Date.now() + SETTLED), attempt = 1; ; first = dueAfter(Date.now()), attempt++) {
    const last = first + 2 * EVERY
    await until(() => late.items.find(({ due = 0 }) => due >= last))
    const found = runsFrom(state, first).filter(({ item }) => item.due <= last).length
    // On a busy machine a run may last until the next is due.
    if (!isCured && found < 6 && attempt < 3) continue
    return {
      figure: `${runs(found)} at 3 due times`,
      why:
        found > 3
          ? `When ${late.name} was due by its clock, the others had run and released the lock. lockAtLeastFor keeps it held for longer than clocks differ.`
          : `The lock stays held for ${String(state.settings.lockAtLeastFor)}, however short the run, so ${late.name} skips what has run.`,
    }
  }
}

async function aSlot({ state, until, at, say }: Stage): Promise<Outcome> {
  const sleeper = lastOf(state)
  for (let due = dueAfter(Date.now() + SETTLED + EARLY); ; due = dueAfter(Date.now() + EARLY)) {
    await at(due - EARLY)
    sleeper.paused = true
    say(
      `${sleeper.name} stands still, as a busy process or a laptop that sleeps, just before the job is due.`,
    )
    const { instance, item } = await until(() => runsFrom(state, due)[0])
    say(`${instance.name} runs the job.`)
    await until(() => item.to)
    const { lockUntil } = await until(() => (state.row?.lastRun ? state.row : undefined))
    await at(lockUntil.getTime() + 50)
    sleeper.paused = false
    const late = Date.now() - due
    say(`${sleeper.name} wakes ${seconds(late)} late, and its timer fires.`)
    const answer = await until(() => sleeper.items.find((each) => (each.due ?? 0) >= due))
    const found = runsFrom(state, due).filter((run) => run.item.due === due).length
    // On a busy machine it may have woken too late.
    if (answer.due !== due || (found === 1 && !state.settings.slot)) continue
    return {
      figure: `${runs(found)} at 1 due time`,
      why:
        found > 1
          ? `${sleeper.name} woke late, when the lock was free again: lockAtLeastFor, 1 s, was over. With a slot, locked_at records the due time of a run, and nobody runs it again.`
          : `locked_at records the due time that was run, its slot, so ${sleeper.name} skips it, however late it is.`,
    }
  }
}

/** How each case is played, by its address. */
export const STAGES: Readonly<Record<Case['id'], (stage: Stage) => Promise<Outcome>>> = {
  'kill-it-in-the-middle': kill,
  'two-clocks': twoClocks,
  'a-slot': aSlot,
}
