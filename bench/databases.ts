import Database from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { DataSource, type DataSourceOptions } from 'typeorm'
import type { DialectName } from '../src/sql'
import { typeOrmLockProvider } from '../src/typeorm'
import { floorOperations, ourStatements, type RunRaw } from './floor'
import { ourOperations } from './lock-operations'
import type { Operation, Target } from './operation'
import { mariadbPeers, postgresPeers, redisPeers, sqlitePeers } from './peers'
import { prismaOperations } from './prisma'

export const TABLE = 'shedlock_bench'
const FAR = "'2099-01-01 00:00:00.000'"

export const databases: Readonly<Record<string, (url: string | undefined) => Promise<Target>>> = {
  postgres: async (url = 'postgres://postgres@127.0.0.1:5432/test') => {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    return target(
      'postgres',
      'postgres',
      (position) => `$${String(position + 1)}`,
      (text, values) => pool.query(text, values),
      {
        options: { type: 'postgres', url },
        prismaUrl: url,
        peers: async () => [...(await postgresPeers(url)), ...(await redisPeers())],
        close: () => pool.end(),
      },
    )
  },
  mariadb: async (url = 'mysql://root@127.0.0.1:3306/test') => {
    const pool = mysql.createPool({ uri: url, connectionLimit: 1 })
    return target(
      'mariadb',
      'mariadb',
      () => '?',
      (text, values) => pool.query(text, values),
      {
        options: { type: 'mariadb', url },
        prismaUrl: url,
        peers: () => mariadbPeers(url),
        close: () => pool.end(),
      },
    )
  },
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'shedlock-bench-'))
    const file = join(folder, 'bench.sqlite')
    const database = new Database(file)
    database.pragma('journal_mode = WAL')
    const prepared = new Map<string, Database.Statement>()
    const run: RunRaw = (text, values) => {
      const statement = prepared.get(text) ?? database.prepare(text)
      prepared.set(text, statement)
      return Promise.resolve(statement.reader ? statement.all(...values) : statement.run(...values))
    }
    return target('sqlite', 'sqlite', () => '?', run, {
      options: { type: 'better-sqlite3', database: file, enableWAL: true },
      prismaUrl: `file:${file}`,
      peers: () => sqlitePeers(file),
      close: () => {
        database.close()
        rmSync(folder, { recursive: true })
        return Promise.resolve()
      },
    })
  },
}

interface Surroundings {
  readonly options: DataSourceOptions
  readonly prismaUrl: string
  peers(): Promise<{ operations: Operation[]; close(): Promise<void> }[]>
  close(): Promise<void>
}

async function target(
  database: string,
  dialect: DialectName,
  placeholder: (position: number) => string,
  run: RunRaw,
  around: Surroundings,
): Promise<Target> {
  const { table } = ourStatements(dialect, TABLE, placeholder)
  await run(`drop table if exists ${TABLE}`, [])
  for (const statement of table.up) await run(statement, [])
  for (const name of ['held', 'write', 'floor']) {
    const until = name === 'held' ? FAR : "'2000-01-01 00:00:00.000'"
    await run(`insert into ${TABLE} values ('${name}', ${until}, ${FAR}, 'bench')`, [])
  }
  const dataSource = await new DataSource(around.options).initialize()
  const provider = typeOrmLockProvider(dataSource, { tableName: TABLE })
  const peers = await around.peers()
  const prisma = await prismaOperations(dialect, around.prismaUrl, TABLE, placeholder)
  return {
    database,
    operations: [
      ...floorOperations(dialect, TABLE, placeholder, run),
      { scenario: 'read one row', who: 'TypeORM', run: () => readThroughTypeOrm(dataSource, placeholder) },
      ...(await ourOperations('ours: TypeORM', provider, 'held')),
      ...prisma.operations,
      ...peers.flatMap(({ operations }) => operations),
    ],
    close: async () => {
      await run(`drop table ${TABLE}`, [])
      await Promise.all([...peers, prisma].map((peer) => peer.close()))
      await dataSource.destroy()
      await around.close()
    },
  }
}

async function readThroughTypeOrm(
  dataSource: DataSource,
  placeholder: (position: number) => string,
): Promise<void> {
  const queryRunner = dataSource.createQueryRunner()
  await queryRunner.query(`select lock_until from ${TABLE} where name = ${placeholder(0)}`, ['held'])
  await queryRunner.release()
}
