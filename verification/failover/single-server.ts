import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection, type Connection } from 'mysql2/promise'
import { startAlone } from '../servers/alone'
import { APP, type Obstacles } from '../servers/database-server'
import { LEAST_CONNECTIONS } from '../servers/mysql-server'
import { Network } from '../servers/network'
import { swallowConnections, type Swallowing } from '../servers/swallow-connections'
import type { Cluster, Fault } from './cluster'

/** An address of this machine at which only swallowed connections arrive. */
const ELSEWHERE = '127.0.0.2'
const LOCAL = '127.0.0.1'

/** Starts one server whose faults harm connections, but lose no writes. @param outage how long they last, in milliseconds */
export async function singleServer(dialect: Cluster['dialect'], outage: number): Promise<Cluster> {
  const server = await startAlone(dialect)
  const addresses = [await Network.listen(server.port), await Network.listen(server.port)]
  const dark: Swallowing[] = []
  const forgetDark = async (): Promise<void> => {
    for (const host of dark.splice(0)) await host.stop()
  }
  const each = (harm: (address: Network) => unknown): Promise<unknown> =>
    Promise.all(addresses.map((address) => harm(address)))

  /** Keeps an obstacle in the way. */
  const behind =
    (obstacle: keyof Obstacles, during: () => Promise<unknown> = () => sleep(outage)): Fault =>
    async (reachable) => {
      await server.behind(obstacle, during)
      reachable()
    }
  const silence = (): Promise<unknown> => each((address) => address.silence())
  const cutAll = (): Promise<unknown> => each((address) => address.cutAll())

  const faults: Record<string, Fault> = {
    // The host swallows the first packet of a connection, until it is back at the same address.
    swallow: async (reachable) => {
      await each((address) => address.vanish(true))
      await sleep(outage)
      await each((address) => address.vanish(false))
      reachable()
    },
    // The host accepts connections, but answers neither these nor those that it had.
    mute: async (reachable) => {
      await each((address) => address.mute(true))
      await silence()
      await sleep(outage)
      await each((address) => address.mute(false))
      reachable()
    },
    // The host is gone for good, and its name leads elsewhere only later.
    move: async (reachable, nameLeadsTo) => {
      await forgetDark()
      for (const { port } of addresses) dark.push(await swallowConnections(port, ELSEWHERE))
      await silence()
      nameLeadsTo(ELSEWHERE)
      await sleep(outage)
      nameLeadsTo(LOCAL)
      reachable()
    },
    // The connections that exist fall silent; new ones work.
    silent: async (reachable) => {
      await silence()
      reachable()
    },
    row: behind('row'),
    // What waits behind the row must not use up what silent connections need.
    'row, silent': behind('row', async () => {
      await sleep(outage)
      await silence()
    }),
    table: behind('table'),
    limit: async (reachable, nameLeadsTo) => {
      const full = dialect === 'postgres' ? [] : await idleConnections(server.port)
      await behind('limit', async () => {
        await cutAll()
        await sleep(outage)
      })(reachable, nameLeadsTo)
      for (const connection of full) connection.destroy()
    },
    'read-only': behind('read-only'),
    restart: async (reachable) => {
      await server.kill()
      await server.start()
      reachable()
    },
  }

  return {
    title: 'one server',
    dialect,
    version: await server.version(),
    addresses,
    faults,
    loses: false,
    heldBy: () => server.heldBy(),
    close: async () => {
      await forgetDark()
      await each((address) => address.close())
      await server.close()
    },
  }
}

/** Opens as many connections as are allowed later. */
function idleConnections(port: number): Promise<Connection[]> {
  return Promise.all(
    Array.from({ length: LEAST_CONNECTIONS }, async () => {
      const connection = await createConnection({ host: LOCAL, port, user: APP })
      connection.on('error', () => undefined)
      return connection
    }),
  )
}
