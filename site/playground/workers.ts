import { effectScope, watch } from 'vue'
import wasm from 'sql.js/dist/sql-wasm-browser.wasm?url'
import type { LockRecord } from 'shedlock-orm/sql'
import type { Wanted as WantedDatabase } from './database'
import Database from './database?worker&inline'
import Worker from './instance?worker&inline'
import type { Visit, Visited, Wanted as WantedVisit } from './operator'
import Operator from './operator?worker&inline'
import { happened, rowRead, type Instance, type Report, type State, type Wanted } from './state'

/** By how many milliseconds a clock is late: more than a short run, and so little that the late run is over before the next tick. */
const LATE = 1_000

/** Loaded once, so that the playground starts again without the network. */
let sqlite: Promise<ArrayBuffer> | undefined

export interface Workers {
  /** Opens an address of the operators' page. */
  visit(visit: Omit<Visit, 'id'>): Promise<Visited>
  end(): void
}

/** Starts the database, the instances and the operators' page, each in a worker, and keeps them in line with the state. */
export async function startWorkers(state: State): Promise<Workers> {
  sqlite ??= fetch(wasm).then((response) => response.arrayBuffer())
  const database = new Database()
  const setDatabase = (more: Partial<WantedDatabase> = {}, ports: MessagePort[] = []): void => {
    database.postMessage({ cut: state.cut, ...more } satisfies WantedDatabase, ports)
  }
  setDatabase({ wasm: await sqlite })
  // If it were not open yet, the first runs would end with TIMEOUT.
  await new Promise((resolve) => {
    database.onmessage = resolve
  })
  database.onmessage = ({ data: row }: MessageEvent<LockRecord | undefined>) => {
    if (row) rowRead(state, row)
  }

  const connect = (send: (database: MessagePort) => void): void => {
    const { port1, port2 } = new MessageChannel()
    send(port2)
    setDatabase({ connect: port1 }, [port1])
  }

  const keep = (instance: Instance): void => {
    const wanted = (): Wanted => {
      const { paused, late } = instance
      return { settings: { ...state.settings }, paused, behind: late ? LATE : 0 }
    }
    const started = (isAlive: boolean, _before: unknown, onCleanup: (kill: () => void) => void): void => {
      if (!isAlive) return
      const worker = new Worker({ name: instance.name })
      worker.onmessage = ({ data }: MessageEvent<Report>) => {
        happened(state, instance, data)
      }
      connect((port) => {
        worker.postMessage({ ...wanted(), database: port } satisfies Wanted, [port])
      })
      const unwatch = watch(wanted, (changed) => {
        worker.postMessage(changed)
      })
      onCleanup(() => {
        unwatch()
        worker.onmessage = null
        worker.terminate()
        instance.paused = false
        happened(state, instance, { what: 'killed', at: Date.now() })
      })
    }
    watch(() => instance.alive, started, { immediate: true })
    const paused = (isPaused: boolean): void => {
      happened(state, instance, { what: isPaused ? 'paused' : 'awake', at: Date.now() })
    }
    watch(() => instance.paused, paused)
  }

  const operator = new Operator({ name: 'operator' })
  const visits = new Map<number, (visited: Visited) => void>()
  let lastVisit = 0
  operator.onmessage = ({ data }: MessageEvent<Visited>) => {
    visits.get(data.id)?.(data)
    visits.delete(data.id)
  }
  connect((port) => {
    operator.postMessage({ database: port } satisfies WantedVisit, [port])
  })

  const watches = effectScope()
  watches.run(() => {
    watch(
      () => state.cut,
      () => {
        setDatabase()
      },
    )
    state.instances.forEach(keep)
  })
  return {
    visit: (visit) =>
      new Promise((resolve) => {
        const id = ++lastVisit
        visits.set(id, resolve)
        operator.postMessage({ visit: { id, ...visit } } satisfies WantedVisit)
      }),
    end: () => {
      watches.stop()
      for (const worker of [database, operator]) worker.terminate()
    },
  }
}
