import { effectScope, watch } from 'vue'
import wasm from 'sql.js/dist/sql-wasm-browser.wasm?url'
import type { LockRecord } from 'shedlock-orm/sql'
import type { Wanted as WantedDatabase } from './database'
import Database from './database?worker&inline'
import type { Report, Wanted } from './instance'
import Worker from './instance?worker&inline'
import { happened, rowRead, type Instance, type State } from './state'

/** By how many milliseconds a clock is late: more than a short run, and so little that the late run is over before the next tick. */
const LATE = 1_100

/**
 * Starts the database and the instances, each in a worker, and keeps them in line with the state.
 *
 * @returns a function that ends them
 */
export function startWorkers(state: State): () => void {
  const database = new Database()
  const setDatabase = (more: Partial<WantedDatabase> = {}, ports: MessagePort[] = []): void => {
    database.postMessage({ cut: state.cut, ...more } satisfies WantedDatabase, ports)
  }
  database.onmessage = ({ data: row }: MessageEvent<LockRecord | undefined>) => {
    if (row) rowRead(state, row)
  }
  // A worker without a URL of its own cannot resolve relative URLs.
  setDatabase({ wasm: new URL(wasm, location.href).href })

  const keep = (instance: Instance): void => {
    const wanted = (): Wanted => {
      const { paused, late } = instance
      return { settings: { ...state.settings }, paused, behind: late ? LATE : 0 }
    }
    const started = (isAlive: boolean, _before: unknown, onCleanup: (kill: () => void) => void): void => {
      if (!isAlive) return
      const worker = new Worker({ name: instance.name })
      const { port1, port2 } = new MessageChannel()
      worker.onmessage = ({ data }: MessageEvent<Report>) => {
        happened(state, instance, data)
      }
      worker.postMessage({ ...wanted(), database: port2 } satisfies Wanted, [port2])
      setDatabase({ connect: port1 }, [port1])
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
  return () => {
    watches.stop()
    database.terminate()
  }
}
