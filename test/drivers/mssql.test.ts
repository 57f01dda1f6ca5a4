import { PrismaMssql } from '@prisma/adapter-mssql'
import { DataSource } from 'typeorm'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { SqlLockProvider } from '../../src/sql'
import { mssql } from '../../src/sql/dialects/mssql'
import { prismaLockProvider } from '../../src/prisma'
import { typeOrmLockProvider } from '../../src/typeorm'
import type { TestClient } from '../prisma/clients'
import { tdsServer, type TdsAnswer, type TdsRequest } from './tds-server'
import { eventually } from '../eventually'

const column = (name: string, type: string, length: string) => ({
  column_name: name,
  column_type: type,
  max_length: length,
  nullable: '0',
  unique_keys: name === 'name' ? '1' : '0',
})
const COLUMNS = [
  column('name', 'nvarchar', '64'),
  column('lock_until', 'datetime2(3)', '7'),
  column('locked_at', 'datetime2(3)', '7'),
  column('locked_by', 'nvarchar', '255'),
]

const changed = (rows: number): TdsAnswer => ({ rows: [{ changed: String(rows) }] })

interface Client {
  provider(timeLimit?: string): SqlLockProvider
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

describe.each(Object.entries(CLIENTS))(
  'SQL Server through %s and mssql, answered by a fake server',
  (_, connect) => {
    let asked: TdsRequest[]
    let answer: (request: TdsRequest) => TdsAnswer
    let columns: typeof COLUMNS
    let server: Awaited<ReturnType<typeof tdsServer>>
    let client: Client

    beforeEach(async () => {
      // A new list: the last test's last request may still be under way.
      const requests: TdsRequest[] = []
      asked = requests
      columns = COLUMNS
      server = await tdsServer((request) => {
        // How mssql tries a connection that it takes from its pool.
        if (request.text === 'SELECT 1;') return { rows: [{ one: '1' }] }
        if (request.text.includes('SCHEMA_NAME')) return { rows: [{ schema_name: 'dbo' }] }
        if (request.text.includes('sys.columns')) return { rows: columns }
        // Rows from the future: none.
        if (request.text.includes('[locked_at] >')) return {}
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

    it('takes the lock in one round trip when the batch says that it changed one row, whatever triggers and settings make of the counts', async () => {
      // A trigger's count comes first, and NOCOUNT leaves the others out.
      answer = () => ({ counts: [7, undefined], ...changed(1) })
      expect(await lock()).toBeDefined()
      expect(asked).toHaveLength(1)
    })

    it('loses in one round trip when the batch says that it changed none, whatever was counted', async () => {
      answer = () => changed(0)
      expect(await lock()).toBeUndefined()
      answer = () => ({ counts: [1], ...changed(0) })
      expect(await lock()).toBeUndefined()
      expect(asked).toHaveLength(2)
    })

    it('frees in one round trip', async () => {
      answer = () => changed(1)
      await (await lock())?.unlock()
      expect(asked).toHaveLength(2)
    })

    it('binds sixty days as a bigint, which the statement splits for DATEADD', async () => {
      answer = () => changed(1)
      await lock('60d')
      expect(asked[0]?.parameters).toContain('bigint')
    })

    it.each(Object.entries(mssql.errors.conflict))(
      'takes error %s for a lost race: %s',
      async (code, message) => {
        answer = () => ({ error: { number: Number(code), message } })
        expect(await lock()).toBeUndefined()
      },
    )

    it('wins when it asks again after a lost race', async () => {
      const answers: TdsAnswer[] = [{ error: { number: 2627, message: 'duplicate' } }, changed(1)]
      answer = () => answers.shift() ?? {}
      expect(await lock()).toBeDefined()
    })

    it.each(Object.entries(mssql.errors.busy))(
      'asks again on error %s, and fails in the end: %s',
      async (code, message) => {
        answer = () => changed(1)
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
        message: expect.stringContaining('229'),
      })
      expect(asked).toHaveLength(1)
    })

    it('frees the lock behind a connection that was lost', async () => {
      const answers: TdsAnswer[] = [{ hangUp: true }]
      answer = () => answers.shift() ?? changed(1)
      await expect(lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
      await eventually(() => {
        expect(asked.length).toBe(2)
      })
      expect(asked[1]?.text).toMatch(/^update \[shedlock] set \[lock_until] = cast.*@@rowcount/)
    })

    it.each([40143, 40197, 40540])(
      'frees the lock behind error %s of Azure, which leaves the outcome open',
      async (number) => {
        const answers: TdsAnswer[] = [{ error: { number, message: 'The service has encountered an error' } }]
        answer = () => answers.shift() ?? changed(1)
        await expect(lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
        await eventually(() => {
          expect(asked.length).toBe(2)
        })
        expect(asked[1]?.text).toMatch(/^update \[shedlock] set \[lock_until] = cast/)
      },
    )

    it('gives no lock in a table without a key', async () => {
      columns = COLUMNS.map((each) => ({ ...each, unique_keys: '0' }))
      answer = () => changed(1)
      await expect(lock()).rejects.toMatchObject({ code: 'TABLE_MISMATCH' })
      expect(asked).toEqual([])
    })

    it('tells of columns that are too short or nullable, and of varchar, with SQL that takes the key away and back', async () => {
      columns = [
        column('name', 'varchar', '64'),
        column('lock_until', 'datetime2(7)', '8'),
        { ...column('locked_at', 'datetime2(7)', '8'), nullable: '1' },
        column('locked_by', 'nvarchar', '64'),
      ]
      answer = () => changed(0)
      const findings = await client.provider().checkTable()
      expect(findings.map(({ code, severity }) => [code, severity])).toEqual([
        ['COLUMN_TOO_SHORT', 'error'],
        ['COLUMN_TYPE', 'warning'],
        ['COLUMN_NULLABLE', 'warning'],
      ])
      expect(findings[1]?.fix).toEqual([
        expect.stringMatching(/^declare @drop [^]*sys.key_constraints[^]*exec \(@drop\)$/),
        'alter table [shedlock] alter column [name] nvarchar(64) collate Latin1_General_100_BIN2 not null',
        'alter table [shedlock] add constraint [shedlock_pkey] primary key ([name])',
      ])
    })
  },
)
