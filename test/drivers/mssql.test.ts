import { PrismaMssql } from '@prisma/adapter-mssql'
import { DataSource } from 'typeorm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LockProvider } from '../../src/core'
import { mssql } from '../../src/sql/dialects/mssql'
import { prismaLockProvider } from '../../src/prisma'
import { typeOrmLockProvider } from '../../src/typeorm'
import type { TestClient } from '../prisma/clients'
import { tdsServer, type TdsAnswer, type TdsRequest } from './tds-server'

const COLUMNS = [
  { column_name: 'name', column_type: 'nvarchar' },
  { column_name: 'lock_until', column_type: 'datetime2(3)' },
  { column_name: 'locked_at', column_type: 'datetime2(3)' },
  { column_name: 'locked_by', column_type: 'nvarchar' },
]

interface Client {
  provider(timeLimit?: string): LockProvider
  close(): Promise<void>
}

/** Not as text in the import: the tests' types can be checked before it is generated. */
const generated = ['..', 'prisma', 'generated', 'sqlserver', 'client.ts'].join('/')

const CLIENTS: Record<string, (port: number) => Promise<Client>> = {
  TypeORM: async (port) => {
    const dataSource = await new DataSource({
      type: 'mssql',
      host: '127.0.0.1',
      port,
      username: 'sa',
      password: 'any',
      database: 'any',
      options: { encrypt: false },
    }).initialize()
    return {
      provider: (timeLimit) => typeOrmLockProvider(dataSource, { timeLimit }),
      close: () => dataSource.destroy(),
    }
  },
  Prisma: async (port) => {
    const { PrismaClient } = (await import(generated)) as {
      PrismaClient: new (options: object) => TestClient
    }
    const server = { server: '127.0.0.1', port, user: 'sa', password: 'any', options: { encrypt: false } }
    const client = new PrismaClient({ adapter: new PrismaMssql(server) })
    return {
      provider: (timeLimit) => prismaLockProvider(client, { timeLimit }),
      close: () => client.$disconnect(),
    }
  },
}

describe.for(Object.entries(CLIENTS))(
  'SQL Server through $0 and mssql, answered by a fake server',
  ([, connect]) => {
    let asked: TdsRequest[]
    let answer: (request: TdsRequest) => TdsAnswer
    let server: Awaited<ReturnType<typeof tdsServer>>
    let client: Client

    beforeEach(async () => {
      // A new list: the last test's last request may still be under way.
      const requests: TdsRequest[] = []
      asked = requests
      server = await tdsServer((request) => {
        // How mssql tries a connection that it takes from its pool.
        if (request.text === 'SELECT 1;') return { rows: [{ one: '1' }] }
        if (request.text.includes('SCHEMA_NAME')) return { rows: [{ schema_name: 'dbo' }] }
        if (request.text.includes('sys.columns')) return { rows: COLUMNS }
        requests.push(request)
        return answer(request)
      })
      client = await connect(server.port)
    })

    afterEach(async () => {
      await client.close()
      await server.close()
    })

    const lock = (lockAtMostFor = '1m') => client.provider().lock({ name: 'job', lockAtMostFor })

    it('takes the lock in one round trip when the statement counts one row, whatever the IFs before it say', async () => {
      answer = () => ({ counts: [undefined, undefined, 1] })
      expect(await lock()).toBeDefined()
      expect(asked).toHaveLength(1)
    })

    it('loses in one round trip, when no statement counted rows and when one counted none', async () => {
      answer = () => ({ counts: [undefined] })
      expect(await lock()).toBeUndefined()
      answer = () => ({ counts: [undefined, undefined, 0] })
      expect(await lock()).toBeUndefined()
      expect(asked).toHaveLength(2)
    })

    it('frees in one round trip', async () => {
      answer = () => ({ counts: [1] })
      await (await lock())?.unlock()
      expect(asked).toHaveLength(2)
    })

    it('binds sixty days as a bigint, which the statement splits for DATEADD', async () => {
      answer = () => ({ counts: [1] })
      await lock('60d')
      expect(asked[0]?.parameters).toContain('bigint')
    })

    it.for(Object.entries(mssql.errors.conflict))(
      'takes error %s for a lost race: %s',
      async ([code, message]) => {
        answer = () => ({ error: { number: Number(code), message } })
        expect(await lock()).toBeUndefined()
      },
    )

    it('wins when it asks again after a lost race', async () => {
      const answers: TdsAnswer[] = [{ error: { number: 2627, message: 'duplicate' } }, { counts: [1] }]
      answer = () => answers.shift() ?? {}
      expect(await lock()).toBeDefined()
    })

    it.for(Object.entries(mssql.errors.busy))(
      'asks again on error %s, and fails in the end: %s',
      async ([code, message]) => {
        answer = () => ({ counts: [1] })
        await lock()
        answer = () => ({ error: { number: Number(code), message } })
        const hurried = client.provider('2s').lock({ name: 'job', lockAtMostFor: '1m' })
        await expect(hurried).rejects.toMatchObject({ code: 'TIMEOUT' })
        expect(asked.length).toBeGreaterThan(2)
      },
    )

    it('fails with any other error of the server', async () => {
      answer = () => ({ error: { number: 229, message: 'The INSERT permission was denied' } })
      await expect(lock()).rejects.toMatchObject({
        code: 'DATABASE_ERROR',
        message: expect.stringContaining('229') as string,
      })
      expect(asked).toHaveLength(1)
    })

    it('frees the lock behind a connection that was lost', async () => {
      const answers: TdsAnswer[] = [{ hangUp: true }]
      answer = () => answers.shift() ?? { counts: [1] }
      await expect(lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
      await expect.poll(() => asked.length).toBe(2)
      expect(asked[1]?.text).toMatch(/^update \[shedlock] set \[lock_until] = cast/)
    })
  },
)
