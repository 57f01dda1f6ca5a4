import { createRequire } from 'node:module'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { DataSource } from 'typeorm'
import { expect, it } from '@jest/globals'
import { drivers, sqlClient } from '../../src/drivers/internal'
import { raw, type DriverError, type SqlClient } from '../../src/sql/internal'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends, type Backend } from '../backends'
import { freePort } from '../backends/free-port'
import { address } from '../backends/server'
import { prismaClient, typeOrmClient } from '../conformance/sql-clients'
import { senderOf } from '../statement-sender'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { ADAPTERS, connect } from '../prisma/adapters'
import { TcpProxy } from '../processes/servers/tcp-proxy'

/** A client with a pool of one connection. */
interface Client {
  readonly client: SqlClient
  /** Keeps the connection. */
  readonly hold: () => Promise<void>
}

const LIMIT = 1000
const requireUntyped = createRequire(__filename)

const CLIENTS: Record<string, (url: string, backend: Backend) => Client | Promise<Client>> = {
  pg: (url) => {
    const pool = new Pool({ connectionString: url, max: 1, connectionTimeoutMillis: LIMIT })
    afterTest(() => pool.end())
    pool.on('error', () => undefined)
    const client = sqlClient(drivers.postgres, async (text, values) => {
      const { rows, rowCount } = await pool.query(text, values)
      return { rows: rows as [], changed: rowCount }
    })
    const hold = async (): Promise<void> => {
      const client = await pool.connect()
      afterTest(() => client.release())
    }
    return { client, hold }
  },
  mysql2: (url) => {
    const { username: user, ...rest } = address(url)
    const pool = createPool({ ...rest, user, connectionLimit: 1, waitForConnections: false })
    afterTest(() => pool.end())
    const client = sqlClient(drivers.mysql, async (text, values) => {
      const [rows] = await pool.execute(text, values)
      return { rows: rows as [], changed: 0 }
    })
    const hold = async (): Promise<void> => {
      const connection = await pool.getConnection()
      afterTest(() => connection.release())
    }
    return { client, hold }
  },
  Prisma: async (url, { name, dialect }) => {
    const adapter = ADAPTERS.find(({ backend }) => backend === name)
    if (!adapter) throw new Error('no adapter')
    const prisma = await connect(adapter, url, {
      max: 1,
      connectionTimeoutMillis: LIMIT,
      connectionLimit: 1,
      acquireTimeout: LIMIT,
    })
    afterTest(() => prisma.$disconnect())
    const hold = async (): Promise<void> => {
      const held = promiseWithResolvers()
      const released = promiseWithResolvers()
      const holding = prisma.$transaction(() => {
        held.resolve()
        return released.promise
      })
      await held.promise
      afterTest(() => {
        released.resolve()
        return holding
      })
    }
    return { client: prismaClient(prisma, dialect), hold }
  },
}
async function open(title: string, url: string, backend: Backend): Promise<Client> {
  const make = CLIENTS[title]
  if (!make) throw new Error(`no client '${title}'`)
  return make(url, backend)
}

const BACKENDS: Record<string, string[]> = {
  postgres: ['pg', 'Prisma'],
  mariadb: ['mysql2', 'Prisma'],
  mysql: ['mysql2', 'Prisma'],
}

const failure = async (client: SqlClient, text = 'select 1'): Promise<DriverError> =>
  senderOf(client)
    .query(raw(text), {})
    .then(
      () => {
        throw new Error('it was answered')
      },
      (error: unknown) => error as DriverError,
    )
/** What ends the session that runs it. */
const endOf = (backend: Backend): string =>
  backend.dialect === 'postgres' ? 'select pg_terminate_backend(pg_backend_pid())' : 'kill connection_id()'
const NOT_SENT = expect.objectContaining({ name: 'DriverError', sent: false })
const SENT = expect.objectContaining({ name: 'DriverError', sent: true })
const servers = availableBackends().filter(({ name }) => name in BACKENDS)
const clients = servers.flatMap((backend) =>
  (BACKENDS[backend.name] ?? []).map((client) => ({ ...backend, backend, client })),
)

/** Listens, and does this to whoever connects. */
async function listener(greet: (socket: Socket) => void): Promise<number> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined))
    greet(socket)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  afterTest(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

const at = (url: string, changes: object): string => Object.assign(new URL(url), changes).href

describeBackends(clients)('A statement for $name by $client', ({ backend, client: title, url }) => {
  const sent = async (changes: object): Promise<DriverError> =>
    failure((await open(title, at(url, changes), backend)).client)

  it('was not sent if no server listens', async () => {
    expect(await sent({ port: await freePort() })).toEqual(NOT_SENT)
  })

  it('was not sent to a host without an address', async () => {
    expect(await sent({ hostname: 'nowhere.invalid' })).toEqual(NOT_SENT)
  })

  it('was not sent by a user whom the server refuses', async () => {
    expect(await sent({ username: 'nobody', password: 'wrong' })).toEqual(NOT_SENT)
  })

  it('was not sent while the only connection of the pool is in use', async () => {
    const { client, hold } = await open(title, url, backend)
    await hold()
    expect(await failure(client)).toEqual(NOT_SENT)
  })

  it('was sent if the connection ends later', async () => {
    const { client } = await open(title, url, backend)
    expect(await failure(client, endOf(backend))).toEqual(SENT)
  })
})

describeBackends(servers.filter(({ dialect }) => dialect === 'postgres'))(
  'A statement for $name',
  (backend) => {
    const url = 'postgres://nobody@127.0.0.1/none'
    const CANNOT_CONNECT_NOW = 'SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0'

    it.each(['pg', 'Prisma'])('was not sent by %s while the server starts', async (title) => {
      const port = await listener((socket) => {
        const length = Buffer.alloc(4)
        length.writeUInt32BE(CANNOT_CONNECT_NOW.length + 4)
        socket.once('data', () =>
          socket.end(Buffer.concat([Buffer.from('E'), length, Buffer.from(CANNOT_CONNECT_NOW)])),
        )
      })
      const { client } = await open(title, at(url, { port }), backend)
      expect(await failure(client)).toMatchObject({ sent: false, code: undefined })
    })

    it('was not sent by pg to a server that does not greet in time', async () => {
      const port = await listener(() => undefined)
      const { client } = await open('pg', at(url, { port }), backend)
      expect(await failure(client)).toEqual(NOT_SENT)
    })

    it('may have been sent if pg does not report why the connection ended', async () => {
      const port = await listener((socket) => socket.destroy())
      const { client } = await open('pg', at(url, { port }), backend)
      expect(await failure(client)).toEqual(SENT)
    })
  },
)

describeBackends(servers)('A statement for $name by TypeORM', (backend) => {
  const limits =
    backend.dialect === 'postgres' ? { connectionTimeoutMillis: LIMIT } : { waitForConnections: false }
  const open = async (options: object): Promise<Client> => {
    const dataSource = await new DataSource({
      type: backend.dialect as 'postgres',
      ...address(backend.url),
      ...options,
      extra: limits,
    }).initialize()
    afterTest(() => dataSource.destroy())
    const hold = async (): Promise<void> => {
      const queryRunner = dataSource.createQueryRunner()
      await queryRunner.connect()
      afterTest(() => queryRunner.release())
    }
    return { client: typeOrmClient(dataSource, backend.dialect), hold }
  }

  it('was not sent while the only connection of the pool is in use', async () => {
    const { client, hold } = await open({ poolSize: 1 })
    await hold()
    expect(await failure(client)).toEqual(NOT_SENT)
  })

  it('was not sent after the server stopped listening, or if it hangs up without a greeting', async () => {
    const proxy = await TcpProxy.listen(Number(new URL(backend.url).port))
    const { client, hold } = await open({ host: '127.0.0.1', port: proxy.port, poolSize: 2 })
    // The one that would break in use.
    await hold()
    await proxy.close()
    expect(await failure(client)).toEqual(NOT_SENT)
    const server = createServer((socket) => socket.destroy()).listen(proxy.port, '127.0.0.1')
    afterTest(() => server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    expect(await failure(client)).toEqual(NOT_SENT)
  })

  it('was sent if the connection ends later', async () => {
    const { client } = await open({})
    expect(await failure(client, endOf(backend))).toEqual(SENT)
  })
})

it('A statement by mssql was not sent if no server listens', async () => {
  const { ConnectionPool } = requireUntyped('mssql') as {
    ConnectionPool: new (config: object) => {
      connect(): Promise<{ request(): { query(text: string): Promise<{ recordset: [] }> } }>
    }
  }
  const server = { server: '127.0.0.1', port: await freePort(), user: 'sa', password: 'any' }
  const client = sqlClient(drivers.mssql, async (text) => {
    const pool = await new ConnectionPool(server).connect()
    return { rows: (await pool.request().query(text)).recordset, changed: 0 }
  })
  expect(await failure(client)).toEqual(NOT_SENT)
})

it('A statement by oracledb was not sent if no server listens', async () => {
  const { getConnection } = requireUntyped('oracledb') as {
    getConnection: (options: object) => Promise<{ execute(text: string): Promise<{ rows: [] }> }>
  }
  const connectString = `127.0.0.1:${await freePort()}/none`
  const client = sqlClient(drivers.oracle, async (text) => {
    const connection = await getConnection({ user: 'any', password: 'any', connectString })
    return { rows: (await connection.execute(text)).rows, changed: 0 }
  })
  expect(await failure(client)).toEqual(NOT_SENT)
})
