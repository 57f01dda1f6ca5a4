import { PrismaMssql } from '@prisma/adapter-mssql'
import { DataSource } from 'typeorm'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { SqlLockProvider } from '../../src/sql/internal'
import { prismaLockProvider } from '../../src/prisma/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import type { TestClient } from '../prisma/clients'
import { tdsServer, type TdsAnswer, type TdsRequest } from './tds-server'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'

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
const ACQUIRED: TdsAnswer = { rows: [{ outcome: 'acquired' }] }
const HELD: TdsAnswer = { rows: [{ outcome: 'held' }] }
const RELEASE = /^update \[shedlock] set \[lock_until] = case when .* < \[lock_until] then .*@@rowcount/

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
    const failed = (number: number, message: string, severity?: number): TdsAnswer => ({
      error: { number, message, ...(severity && { severity }) },
    })
    let asked: TdsRequest[]
    let answer: (request: TdsRequest) => TdsAnswer
    let columns: typeof COLUMNS
    let client: Client
    const opened: (() => Promise<void>)[] = []

    /** A server, and a client of it. */
    const open = async (answerTo: (request: TdsRequest) => TdsAnswer): Promise<Client> => {
      const server = await tdsServer((request) => {
        // How mssql tries a connection that it takes from its pool.
        if (request.text === 'SELECT 1;') return { rows: [{ one: '1' }] }
        if (request.text.includes('SCHEMA_NAME')) return { rows: [{ schema_name: 'dbo' }] }
        if (request.text.includes('sys.columns')) return { rows: columns }
        // Rows from the future: none.
        if (request.text.includes('[locked_at] >')) return {}
        return answerTo(request)
      })
      const client = await connect(server.port)
      opened.push(async () => {
        await client.close()
        await server.close()
      })
      return client
    }

    beforeEach(async () => {
      // A new list: the last test's last request may still be under way.
      const requests: TdsRequest[] = []
      asked = requests
      columns = COLUMNS
      client = await open((request) => {
        requests.push(request)
        return answer(request)
      })
    })

    afterEach(async () => {
      for (const close of opened.splice(0)) await close()
    })

    const lock = (lockAtMostFor = '1m') => client.provider().lock({ name: 'job', lockAtMostFor })

    it('acquires the lock in one round trip when the batch says so, whatever triggers and settings make of the counts', async () => {
      // A trigger's count comes first, and NOCOUNT leaves the others out.
      answer = () => ({ counts: [7, undefined], ...ACQUIRED })
      expect(await lock()).toBeDefined()
      expect(asked).toHaveLength(1)
    })

    it('loses in one round trip when the batch says so, whatever was counted', async () => {
      answer = () => HELD
      expect(await lock()).toBeUndefined()
      answer = () => ({ counts: [1], ...HELD })
      expect(await lock()).toBeUndefined()
      expect(asked).toHaveLength(2)
    })

    it('binds sixty days as a bigint, which the statement splits for DATEADD', async () => {
      answer = () => ACQUIRED
      await lock('60d')
      expect(asked[0]?.parameters).toContain('bigint')
    })

    it.each(['1205', '2627'])(
      'tries again after error %s, and does not mistake it for a held lock',
      async (code) => {
        for (const last of [ACQUIRED, HELD]) {
          const answers: TdsAnswer[] = [failed(Number(code), 'try again'), last]
          answer = () => answers.shift() ?? {}
          expect((await lock()) !== undefined).toBe(last === ACQUIRED)
        }
      },
    )

    it('is neither acquired nor held when a trigger has sent other rows before the outcome, and is released', async () => {
      answer = ({ text }) => (text.includes('@outcome') ? { rows: [{ audit_id: '7' }] } : changed(1))
      await expect(lock()).rejects.toEqual(lockError('INVALID_CLIENT', 'no trigger that returns rows'))
      await eventually(() => expect(asked.length).toBe(2))
      expect(asked[1]?.text).toMatch(RELEASE)
    })

    it('fails with any other error of the server', async () => {
      answer = () => ({ error: { number: 229, message: 'The INSERT permission was denied' } })
      await expect(lock()).rejects.toEqual(lockError('DATABASE_ERROR', '229'))
      expect(asked).toHaveLength(1)
    })

    it.each<[string, TdsAnswer]>([
      ['a connection that was lost', { hangUp: true }],
      ['error 40143 of Azure', failed(40143, 'The service has encountered an error')],
      ['a fatal error', failed(596, 'Cannot continue: the session is in the kill state.', 21)],
    ])('releases the lock behind %s, which leaves the outcome open', async (_, lost) => {
      const answers = [lost]
      answer = () => answers.shift() ?? changed(1)
      await expect(lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
      await eventually(() => expect(asked.length).toBe(2))
      expect(asked[1]?.text).toMatch(RELEASE)
    })

    it('refuses to lock in a table without a key', async () => {
      columns = COLUMNS.map((each) => ({ ...each, unique_keys: '0' }))
      answer = () => ACQUIRED
      await expect(lock()).rejects.toMatchObject({ code: 'TABLE_MISMATCH' })
      expect(asked).toEqual([])
    })

    it('reports columns that are too short, nullable or varchar, with the type that they should have', async () => {
      columns = [
        column('name', 'varchar', '64'),
        column('lock_until', 'datetime2(7)', '8'),
        { ...column('locked_at', 'datetime2(7)', '8'), nullable: '1' },
        column('locked_by', 'nvarchar', '64'),
      ]
      answer = () => ({})
      const findings = await client.provider().table.check()
      expect(findings.map(({ code, severity }) => [code, severity])).toEqual([
        ['COLUMN_TOO_SHORT', 'error'],
        ['COLUMN_TYPE', 'warning'],
        ['COLUMN_NULLABLE', 'warning'],
      ])
      expect(findings[1]).toMatchObject({
        message: expect.stringMatching(
          /make it 'nvarchar\(64\) collate Latin1_General_100_BIN2 not null'\.$/,
        ),
        fix: [],
      })
    })
  },
)
