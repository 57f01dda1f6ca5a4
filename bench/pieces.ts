import pg from 'pg'
import { DataSource } from 'typeorm'
import { LockingTaskExecutor, type LockProvider } from 'shedlock-orm'
import { drivers, sqlClient, type RunStatement } from 'shedlock-orm/drivers'
import { prismaLockProvider } from 'shedlock-orm/prisma'
import { dialects, SqlLockProvider } from 'shedlock-orm/sql'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { makeLockTable } from './lock-table'
import { measure } from './measure'
import { openClients } from './prisma'
import { median } from './quantile'
import { benchDatabase, location, nameOf } from './raw-clients'

const tableName = 'shedlock_bench_pieces'
const lose = { name: 'held', lockAtMostFor: 60_000 }
const ROUNDS = 30
/** For each row in each round. */
const MILLISECONDS = 100

/** Prints what a skip on PostgreSQL is made of: each row does what the row above does, and one thing more. */
async function main(): Promise<void> {
  const { url } = location('postgres')
  const database = benchDatabase('postgres')
  const control = database.raw(url)
  await makeLockTable(database, control, tableName, [])
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const client = new pg.Client(url)
  await client.connect()

  type Answer = Awaited<ReturnType<RunStatement>>
  let query = { name: '', text: '', values: [] as unknown[] }
  let answer: Answer = { rows: [] }
  const onConnection: RunStatement = async (text, values): Promise<Answer> => {
    query = { name: nameOf(text), text, values }
    const { rows, rowCount } = await client.query<Record<string, unknown>>(query)
    return (answer = { rows, changed: rowCount })
  }
  const provider = (run: RunStatement): LockProvider =>
    new SqlLockProvider(sqlClient(drivers.postgres, run), dialects.postgres, { tableName })
  const ofConnection = provider(onConnection)
  let run = onConnection
  const ofNothing = provider((...statement) => run(...statement))
  const dataSource = await new DataSource(database.typeOrm(url, 1)).initialize()
  const typeOrm = typeOrmLockProvider(dataSource, { tableName })
  const { '': prismaClient } = await openClients('postgres', url)
  if (!prismaClient) throw new Error('no Prisma client')
  const prisma = prismaLockProvider(prismaClient, { tableName })
  await typeOrm.lock({ ...lose, lockAtMostFor: '1h' })
  // The first ones check the table.
  for (const one of [prisma, ofNothing, ofConnection]) await one.lock(lose)
  const [skip, skipped] = [query, answer]
  run = () => Promise.resolve(skipped)

  const executor = new LockingTaskExecutor(typeOrm)
  const rows: Readonly<Record<string, () => Promise<unknown>>> = {
    'the prepared statement on one connection': () => client.query({ ...skip }),
    'by the pool of the driver': () => pool.query({ ...skip }),
    'by a lock on that connection: its time limit, its attempt, its row': () => ofConnection.lock(lose),
    'on a connection beside the pool of TypeORM': () => typeOrm.lock(lose),
    'on a connection beside the pool of Prisma': () => prisma.lock(lose),
    'by executeWithLock, through TypeORM': () => executor.executeWithLock(lose, () => undefined),
    'by a lock whose database answers at once: our code alone': () => ofNothing.lock(lose),
  }
  const all = await measure(
    Object.entries(rows).map(([who, run]) => ({ scenario: 'lose', who, run })),
    ROUNDS,
    MILLISECONDS,
  )
  console.log('| a skip | median µs | × |\n| --- | --- | --- |')
  for (const { who, rounds } of all) {
    const times = median(rounds.map((time, round) => time / (all[0]?.rounds[round] ?? NaN)))
    console.log(`| ${who} | ${median([...rounds]).toFixed(0)} | ${times.toFixed(2)} |`)
  }
  await prismaClient.$disconnect()
  await dataSource.destroy()
  await client.end()
  await pool.end()
  await control.run(`drop table ${tableName}`)
  await control.close()
}

void main()
