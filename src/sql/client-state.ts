import { sharedByEveryCopy } from '../core/internal'
import { ReleaseQueue } from './release-queue'
import type { SqlClient } from './session'
import { SessionPool } from './session-pool'

/** What all providers, executors and copies of this package share that use one client of the app. */
export interface ClientState {
  readonly sessions: SessionPool
  readonly releases: ReleaseQueue
}

const states = sharedByEveryCopy('clients', () => new WeakMap<object, ClientState>())

/** Returns what is shared by all that use the app's client behind this one. */
export function stateOf(client: SqlClient): ClientState {
  const key = client.pool ?? client
  const state = states.get(key) ?? { sessions: new SessionPool(), releases: new ReleaseQueue() }
  states.set(key, state)
  return state
}
