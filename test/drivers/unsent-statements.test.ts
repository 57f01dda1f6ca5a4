import { createRequire } from 'node:module'
import { createServer, type Socket } from 'node:net'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { DataSource } from 'typeorm'
import { expect, it } from '@jest/globals'
import { drivers } from '../../src/drivers/drivers'
import { sqlClient } from '../../src/drivers/sql-client'
import type { DriverError, SqlClient } from '../../src/sql/session'
import { raw } from '../../src/sql/sql'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends, type Backend } from '../backends'
import { freePort } from '../backends/free-port'
import { address } from '../backends/server'
import { prismaClient, typeOrmClient } from '../conformance/sql-clients'
import { listening } from '../listening'
import { senderOf } from '../statement-sender'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { adapterFor, connect } from '../prisma/adapters'

/** A client with a pool of one connection. */
interface Client {
  readonly client: SqlClient
  /** Keeps the connection. */
  readonly hold: () => Promise<void>
}

const LIMIT = 1000
const requireUntyped = createRequire(__filename)

type Server = Pick<Backend, 'name' | 'dialect'>

type Title = 'pg' | 'mysql2' | 'Prisma' | 'TypeORM'

const CLIENTS: Record<Title, (url: string, server: Server) => Client | Promise<Client>> = {
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
    const prisma = await connect(adapterFor(name), url, {
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
  TypeORM: async (url, { dialect }) => {
    const dataSource = await new DataSource({
      type: dialect as 'postgres',
      ...address(url),
      poolSize: 1,
      extra: dialect === 'postgres' ? { connectionTimeoutMillis: LIMIT } : { waitForConnections: false },
    }).initialize()
    afterTest(() => dataSource.destroy())
    const hold = async (): Promise<void> => {
      const queryRunner = dataSource.createQueryRunner()
      await queryRunner.connect()
      afterTest(() => queryRunner.release())
    }
    return { client: typeOrmClient(dataSource, dialect), hold }
  },
}

const BACKENDS: Record<string, Title[]> = {
  postgres: ['pg', 'Prisma', 'TypeORM'],
  // MySQL's clients are the same.
  mariadb: ['mysql2', 'Prisma', 'TypeORM'],
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
const endOf = (dialect: string): string =>
  dialect === 'postgres' ? 'select pg_terminate_backend(pg_backend_pid())' : 'kill connection_id()'
const NOT_SENT = expect.objectContaining({ name: 'DriverError', sent: false, lasts: false })
const SENT = expect.objectContaining({ name: 'DriverError', sent: true })

/** Listens, and does this to whoever connects. */
async function listener(greet: (socket: Socket) => void): Promise<number> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined))
    greet(socket)
  })
  afterTest(() => {
    for (const socket of sockets) socket.destroy()
  })
  return listening(server)
}

const at = (url: string, changes: object): string => Object.assign(new URL(url), changes).href

const cases = availableBackends().flatMap((backend) =>
  (BACKENDS[backend.name] ?? []).map((client) => ({ ...backend, client })),
)

describeBackends(cases)('A statement for $name by $client', ({ client: title, url, ...server }) => {
  // TypeORM connects at the start.
  if (title !== 'TypeORM')
    it.each([
      ['if no server listens', async () => ({ port: await freePort() }), false],
      [
        'to a host without an address, which no attempt changes',
        () => ({ hostname: 'nowhere.invalid' }),
        true,
      ],
      ['by a user whom the server refuses, which no attempt changes', () => ({ username: 'nobody' }), true],
    ])('was not sent %s', async (_, changes, lasts) => {
      const { client } = await CLIENTS[title](at(url, { password: 'wrong', ...(await changes()) }), server)
      // Prisma's adapters and their pools hide some reasons.
      const expected = title === 'Prisma' ? {} : { lasts }
      expect(await failure(client)).toMatchObject({ name: 'DriverError', sent: false, ...expected })
    })

  it('was not sent while the only connection of the pool is in use', async () => {
    const { client, hold } = await CLIENTS[title](url, server)
    await hold()
    expect(await failure(client)).toEqual(NOT_SENT)
  })

  it('was sent if the connection ends later', async () => {
    const { client } = await CLIENTS[title](url, server)
    expect(await failure(client, endOf(server.dialect))).toEqual(SENT)
  })
})

const POSTGRES = { name: 'postgres', dialect: 'postgres' } as const
const openOn = (title: Title, port: number) =>
  CLIENTS[title](`postgres://nobody@127.0.0.1:${port}/none`, POSTGRES)
const CANNOT_CONNECT_NOW = 'SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0'

it.each<Title>(['pg', 'Prisma'])('A statement was not sent by %s while PostgreSQL starts', async (title) => {
  const port = await listener((socket) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(CANNOT_CONNECT_NOW.length + 4)
    socket.once('data', () =>
      socket.end(Buffer.concat([Buffer.from('E'), length, Buffer.from(CANNOT_CONNECT_NOW)])),
    )
  })
  const { client } = await openOn(title, port)
  expect(await failure(client)).toMatchObject({ sent: false, lasts: false, code: undefined })
})

it.each([
  ['was not sent by pg to a server that does not greet in time', () => undefined, NOT_SENT],
  ['may have been sent if pg does not report the end', (socket: Socket) => socket.destroy(), SENT],
])('A statement %s', async (_, greet, expected) => {
  const { client } = await openOn('pg', await listener(greet))
  expect(await failure(client)).toEqual(expected)
})

/** Clients of databases that are seldom there, each as it connects to a port. */
const CONNECT = {
  mssql: (port: number) => {
    const { ConnectionPool } = requireUntyped('mssql') as {
      ConnectionPool: new (config: object) => { connect(): Promise<unknown> }
    }
    return new ConnectionPool({ server: '127.0.0.1', port, user: 'sa', password: 'any' }).connect()
  },
  oracle: (port: number) => {
    const { getConnection } = requireUntyped('oracledb') as {
      getConnection: (options: object) => Promise<unknown>
    }
    return getConnection({ user: 'any', password: 'any', connectString: `127.0.0.1:${port}/none` })
  },
}

it.each(['mssql', 'oracle'] as const)('A statement of %s was not sent if no server listens', async (name) => {
  const port = await freePort()
  const client = sqlClient(drivers[name], async () => {
    await CONNECT[name](port)
    throw new Error('it connected')
  })
  expect(await failure(client)).toEqual(NOT_SENT)
})
