import type { LockRecord } from 'shedlock-orm/sql'
import type { Report, Settings } from './instance'

/** A period in the timeline of an instance, up to a given time or until now. */
export interface Item {
  readonly look: 'run' | 'run many' | 'lost' | 'locked' | 'paused' | 'skips' | 'fails' | 'killed'
  readonly from: number
  to?: number
  readonly run?: number | undefined
  readonly due?: number
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

export function newState(): State {
  const instance = { alive: true, paused: false, late: false }
  return {
    settings: { lock: true, takes: 800, lockAtMostFor: '5s', lockAtLeastFor: '0s', slot: false },
    cut: false,
    instances: ['A', 'B', 'C'].map((name) => ({ ...instance, name, items: [] })),
  }
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
  else if (what === 'paused') add(instance, { look: what, from })
  else if (what === 'awake') end(({ look }) => look === 'paused')
  else if (what === 'killed') {
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
