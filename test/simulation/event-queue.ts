import type { SimulatedProcess } from './simulated-process'

/** An event in a process, or, if it has no process, in the network or the database. */
export interface SimulatedEvent {
  at: number
  order: number
  readonly process: SimulatedProcess | undefined
  readonly kind: 'timer' | 'message' | 'other'
  callback: (() => void) | undefined
}

/** The future events, the earliest first. Events at the same moment come in the order in which they were added. */
export class EventQueue {
  readonly #heap: SimulatedEvent[] = []
  #order = 0

  get size(): number {
    return this.#heap.length
  }

  push(event: SimulatedEvent): void {
    event.order = this.#order++
    const heap = this.#heap
    let index = heap.length
    heap.push(event)
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = heap[above]
      if (!parent || isBefore(parent, event)) break
      heap[index] = parent
      index = above
    }
    heap[index] = event
  }

  pop(): SimulatedEvent | undefined {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (!first || !last || heap.length === 0) return first
    for (let index = 0; ;) {
      const below = 2 * index + 1
      const [left, right] = [heap[below], heap[below + 1]]
      const isRight = left !== undefined && right !== undefined && isBefore(right, left)
      const child = isRight ? right : left
      if (!child || isBefore(last, child)) {
        heap[index] = last
        return first
      }
      heap[index] = child
      index = isRight ? below + 1 : below
    }
  }
}

function isBefore(one: SimulatedEvent, other: SimulatedEvent): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}
