import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection, type Connection } from 'mysql2/promise'
import { freePort } from '../../backends/free-port'
import { MARIADB, MYSQL, type ServerProgram } from '../servers/mysql-programs'
import { swallowConnections, type Swallowing } from '../servers/swallow-connections'
import { TcpProxy } from '../servers/tcp-proxy'
import { APP, type Cluster, type Fault, type HeldRow } from './cluster'
import { MySqlServer } from './mysql-server'
import { PostgresNode } from './postgres-node'

interface Server {
  readonly port: number
  start(): Promise<void>
  kill(): Promise<void>
  heldRows(): Promise<HeldRow[]>
  /** Does some work in a session of the superuser. */
  inSession(work: (run: (statement: string) => Promise<unknown>) => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** Statements that put something in the way, and remove it. */
type Obstacle = readonly [put: readonly string[], remove: readonly string[]]
interface Obstacles {
  readonly row: Obstacle
  readonly table: Obstacle
  readonly limit: Obstacle
  readonly 'read-only': Obstacle
}

class MySqlAlone extends MySqlServer implements Server {
  static async start(program: ServerProgram): Promise<MySqlAlone> {
    const server = new MySqlAlone(program, await freePort(), ['--skip-log-bin'])
    await server.initialize(undefined)
    await server.startEmpty()
    return server
  }
}

async function postgresAlone(): Promise<PostgresNode> {
  const server = await PostgresNode.at(0)
  await server.startAsPrimary()
  return server
}

const ROLLBACK = ['rollback']
const POSTGRES: Obstacles = {
  row: [['begin', 'select from shedlock for update'], ROLLBACK],
  table: [['begin', 'lock table shedlock'], ROLLBACK],
  limit: [[`alter role ${APP} connection limit 0`], [`alter role ${APP} connection limit -1`]],
  'read-only': [
    // All sessions have read the setting after a moment.
    [
      'alter system set default_transaction_read_only = on',
      'select pg_reload_conf()',
      'select pg_sleep(0.2)',
    ],
    ['alter system reset default_transaction_read_only', 'select pg_reload_conf()'],
  ],
}
/** The least that both servers accept. */
const LIMIT = 10
const MYSQL_LIKE: Obstacles = {
  row: [['begin', `select * from ${APP}.shedlock for update`], ROLLBACK],
  table: [[`lock tables ${APP}.shedlock write`], ['unlock tables']],
  limit: [[`set global max_connections = ${LIMIT}`], ['set global max_connections = 151']],
  'read-only': [['set global read_only = 1'], ['set global read_only = 0']],
}

const SERVERS = {
  postgres: { start: postgresAlone, obstacles: POSTGRES },
  mariadb: { start: () => MySqlAlone.start(MARIADB), obstacles: MYSQL_LIKE },
  mysql: { start: () => MySqlAlone.start(MYSQL), obstacles: MYSQL_LIKE },
} as const satisfies Record<Cluster['dialect'], { start: () => Promise<Server>; obstacles: Obstacles }>

/** An address of this machine at which only swallowed connections arrive. */
const ELSEWHERE = '127.0.0.2'
const LOCAL = '127.0.0.1'

/** Starts one server whose faults harm connections, but lose no writes. @param outage how long they last, in milliseconds */
export async function singleServer(dialect: Cluster['dialect'], outage: number): Promise<Cluster> {
  const { start, obstacles } = SERVERS[dialect]
  const server: Server = await start()
  const addresses = [await TcpProxy.listen(server.port), await TcpProxy.listen(server.port)]
  const dark: Swallowing[] = []
  const forgetDark = async (): Promise<void> => {
    for (const host of dark.splice(0)) await host.stop()
  }
  const each = (harm: (address: TcpProxy) => unknown): Promise<unknown> =>
    Promise.all(addresses.map((address) => harm(address)))

  /** Keeps an obstacle in the way. */
  const behind =
    ([put, remove]: Obstacle, during: () => Promise<unknown> = () => sleep(outage)): Fault =>
    (reachable) =>
      server.inSession(async (run) => {
        for (const statement of put) await run(statement)
        await during()
        for (const statement of remove) await run(statement)
        reachable()
      })
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
    row: behind(obstacles.row),
    // What waits behind the row must not use up what silent connections need.
    'row, silent': behind(obstacles.row, async () => {
      await sleep(outage)
      await silence()
    }),
    table: behind(obstacles.table),
    limit: async (reachable, nameLeadsTo) => {
      const full = dialect === 'postgres' ? [] : await idleConnections(server.port)
      await behind(obstacles.limit, async () => {
        await cutAll()
        await sleep(outage)
      })(reachable, nameLeadsTo)
      for (const connection of full) connection.destroy()
    },
    'read-only': behind(obstacles['read-only']),
    restart: async (reachable) => {
      await server.kill()
      await server.start()
      reachable()
    },
  }

  return {
    title: 'one server',
    dialect,
    version: dialect,
    addresses,
    faults,
    loses: false,
    heldRows: () => server.heldRows(),
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
    Array.from({ length: LIMIT }, async () => {
      const connection = await createConnection({ host: LOCAL, port, user: APP })
      connection.on('error', () => undefined)
      return connection
    }),
  )
}
