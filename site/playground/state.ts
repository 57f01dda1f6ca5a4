import type { LockRecord } from 'shedlock-orm/sql'
import type { Duration } from 'shedlock-orm'

/** The period of the job, in milliseconds. */
export const EVERY = 2_000

/** What the visitor chooses for all instances. */
export interface Settings {
  lock: boolean
  takes: number
  lockAtMostFor: Duration
  lockAtLeastFor: Duration
  keepAlive: boolean
  slot: boolean
}

/** The state that an instance must take. */
export interface Wanted {
  readonly settings: Settings
  readonly paused: boolean
  /** By how many milliseconds its clock is late. */
  readonly behind: number
  /** Its connection, sent with the first message. */
  readonly database?: MessagePort
}

/** An event in an instance, with its time by the shared clock. */
export interface Report {
  readonly what: 'begins' | 'ends' | 'loses its lock' | 'skips' | 'fails'
  readonly at: number
  /** The tick, by its own clock. */
  readonly due: number
  readonly run?: number
  /** Until when the run may trust its lock, if it has one. */
  readonly until?: number | undefined
  readonly why?: string
}

/** A period in the timeline of an instance, up to a given time or until now. */
export interface Item {
  readonly look: 'run' | 'run many' | 'frozen' | 'lost' | 'locked' | 'paused' | 'skips' | 'fails' | 'killed'
  readonly from: number
  to?: number
  readonly run?: number | undefined
  /** Only of the first period of a run, which a pause of its instance divides. */
  readonly due?: number | undefined
  readonly until?: number | undefined
  readonly why?: string | undefined
}

export interface Instance {
  readonly name: string
  alive: boolean
  paused: boolean
  late: boolean
  items: Item[]
}

export interface State {
  readonly settings: Settings
  cut: boolean
  readonly instances: readonly Instance[]
  row?: LockRecord
}

/** What an instance reports, or what the page did to it. */
type Event = Partial<Omit<Report, 'what'>> & {
  readonly what: Report['what'] | 'killed' | 'paused' | 'awake'
  readonly at: number
}

/** In milliseconds: more than the widest screen shows. */
const KEPT = 60_000

export const SETTINGS: Settings = {
  lock: true,
  takes: 800,
  lockAtMostFor: '5s',
  lockAtLeastFor: '0s',
  keepAlive: false,
  slot: false,
}

export function newState(settings = SETTINGS): State {
  const instance = { alive: true, paused: false, late: false }
  return {
    settings: { ...settings },
    cut: false,
    instances: ['A', 'B', 'C'].map((name) => ({ ...instance, name, items: [] })),
  }
}

/** Returns the run that has not ended, which may be frozen. */
export function runOf({ items }: Instance): Item | undefined {
  return items.findLast(({ look, to }) => to === undefined && (look.startsWith('run') || look === 'frozen'))
}

function add({ items }: Instance, item: Item): void {
  while (items[0] && items[0].from < item.from - KEPT) items.shift()
  items.push(item)
}

/** Adds an event to the timeline. */
export function happened({ instances }: State, instance: Instance, event: Event): void {
  const { what, at: from } = event
  const end = (which: (item: Item) => boolean): void => {
    for (const item of instance.items) if (which(item)) item.to ??= from
  }
  if (what === 'begins') {
    const isSecond = instances.some(({ items }) =>
      items.some(({ look, due }) => look === 'run' && due === event.due),
    )
    const look = isSecond || event.until === undefined ? 'run many' : 'run'
    add(instance, { look, from, run: event.run, due: event.due, until: event.until })
  } else if (what === 'loses its lock') {
    // An instance that was paused notices the loss late.
    const { until = from } = instance.items.findLast(({ run }) => run === event.run) ?? {}
    add(instance, { look: 'lost', from: Math.min(until, from), run: event.run })
  } else if (what === 'ends') end(({ run }) => run === event.run)
  else if (what === 'paused') {
    const run = runOf(instance)
    if (run) {
      end((item) => item === run)
      add(instance, { ...run, look: 'frozen', from, to: undefined, due: undefined })
    }
    add(instance, { look: what, from })
  } else if (what === 'awake') {
    const run = runOf(instance)
    end(({ look }) => look === 'paused' || look === 'frozen')
    if (run) add(instance, { ...run, look: 'run', from, to: undefined })
  } else if (what === 'killed') {
    end(() => true)
    add(instance, { look: what, from, to: from })
  } else add(instance, { look: what, from, to: from, due: event.due, why: event.why })
}

/** Adds the time until which the owner holds the lock, as the row records it. */
export function rowRead(state: State, row: LockRecord): void {
  state.row = row
  const [from, to] = [row.now.getTime(), row.lockUntil.getTime()]
  const owner = state.instances.find(({ name }) => row.lockedBy.startsWith(`${name}/`))
  const lease = owner?.items.findLast(({ look }) => look === 'locked')
  if (lease?.to && lease.to >= from) lease.to = to
  else if (owner && row.held) add(owner, { look: 'locked', from, to })
}
