import type { Client } from '../app/client'
import { openClient, type Orm, type Settings } from './client'
import type { SingleServer } from './single-server'

export interface Calls {
  readonly orm: Orm
  readonly settings: Settings
  /** How many locks are requested at once. */
  readonly calls: number
}

/** What so many calls did to a pool of ten, the default of most clients, on a server that accepts no writes. */
export interface Connections {
  readonly opened: number
  /** How many were open after the calls. */
  readonly left: number
  /** How long the calls took together, in milliseconds. */
  readonly milliseconds: number
}

/** Counts the connections that calls open on a server that accepts no writes. */
export async function countConnections(
  server: SingleServer,
  { orm, settings, calls }: Calls,
): Promise<Connections> {
  const { dialect, addresses } = server
  const [address] = addresses
  if (!address) throw new Error('the server has no address')
  const client: Client = await openClient({ orm, settings, dialect, port: address.port, max: 10 })
  const lock = (name: string): Promise<unknown> => client.provider.lock({ name, lockAtMostFor: '1m' })
  try {
    await lock('opens the first connection')
    const before = address.opened
    const counted: Connections[] = []
    await server.readOnly(async () => {
      const from = performance.now()
      await Promise.allSettled(Array.from({ length: calls }, (_, call) => lock(`job ${call}`)))
      const milliseconds = Math.round(performance.now() - from)
      counted.push({ opened: address.opened - before, left: address.open, milliseconds })
    })
    const [connections] = counted
    if (!connections) throw new Error('the server was not made read-only')
    return connections
  } finally {
    await client.close()
  }
}
