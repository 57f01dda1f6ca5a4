import { randomUUID } from 'node:crypto'
import type { LockProvider } from '../../src/core/lock-provider'
import { drivers } from '../../src/drivers/drivers'
import type { DialectName } from '../../src/sql/dialect'
import type { LockTableOptions } from '../../src/sql/names'
import type { SqlLockProviderOptions } from '../../src/sql/sql-lock-provider'
import type { LockProviderEnvironment } from '../../src/testing/expectations'
import { allowedNames } from '../sql/hostile-names'
import { observeLockTable, type Observer } from './lock-table-observer'

export type { Observer }

/** A transaction of the client under test. */
export interface ClientTransaction {
  readonly provider: LockProvider
  query(sql: string): Promise<unknown>
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** What differs from one client (TypeORM, Prisma) to another. */
export interface SqlClient {
  createProvider(options: SqlLockProviderOptions): Promise<LockProvider>
  /** A provider in sessions that have this time zone. */
  createProviderInTimeZone?(options: SqlLockProviderOptions, zone: string): Promise<LockProvider>
  beginTransaction(options: SqlLockProviderOptions): Promise<ClientTransaction>
  /** Why some of this cannot be called. */
  readonly reasons: Partial<Record<Ability, string>>
}

/** An open transaction of the app, on the same client that `provider` uses. */
export interface CallerTransaction extends Omit<ClientTransaction, 'query'> {
  /** Returns whether other sessions can see what the transaction wrote. */
  isVisible(): Promise<boolean>
}

/** What the cases for SQL need. */
export interface SqlLockProviderEnvironment
  extends LockProviderEnvironment, Omit<ReturnType<typeof observeLockTable>, 'isHeld'> {
  /** Why some members cannot be called: the reasons with which their cases are skipped. */
  readonly reasons: SqlClient['reasons']
  /** Returns an environment for the same database with a different, new lock table. */
  withTable(names: LockTableOptions): Promise<SqlLockProviderEnvironment>

  /** Creates a provider whose sessions have this time zone, such as `America/New_York`. */
  createProviderInTimeZone(zone: string): Promise<LockProvider>
  /** Begins a transaction and reads in it, so that its snapshot and its time are fixed. */
  beginTransaction(): Promise<CallerTransaction>
  /** Begins a transaction, and reads and writes in it. */
  beginWritingTransaction(): Promise<CallerTransaction>
}

/** The members that not every client and database has. */
export type Ability = 'createProviderInTimeZone' | 'beginTransaction' | 'beginWritingTransaction'

/** The tests of one topic, by title. */
export type SqlCases = Readonly<Record<string, (environment: SqlLockProviderEnvironment) => Promise<void>>>

/** Cases that are skipped where the member that they need cannot be called. */
export interface CasesThatNeed {
  readonly needs: Ability
  readonly cases: SqlCases
}

/** Makes an environment for the suite. The observer is a client of the test's own, so that it sees what others see. */
export function sqlEnvironment(
  observer: Observer,
  dialect: DialectName,
  client: SqlClient,
  names: LockTableOptions = {},
): SqlLockProviderEnvironment {
  const placeholder = drivers[dialect].placeholder
  const table = observeLockTable(observer, dialect, names)
  // How fast the machine is must not matter.
  const options: SqlLockProviderOptions = { ...names, timeLimit: '1m' }

  /** Begins it anew where its first statements lost a deadlock with the cases beside it: that is the caller's risk, not the lock's. */
  const begin = async (write: boolean): Promise<CallerTransaction> => {
    for (;;) {
      const transaction = await client.beginTransaction(options)
      try {
        return await begun(transaction, write)
      } catch (error) {
        await transaction.rollback().catch(() => undefined)
        if (!/deadlock/i.test((error as Error).message)) throw error
      }
    }
  }
  const begun = async (transaction: ClientTransaction, write: boolean): Promise<CallerTransaction> => {
    const note = randomUUID()
    await transaction.query('select * from note')
    if (write) await transaction.query(`insert into note (id) values ('${note}')`)
    return {
      ...transaction,
      isVisible: async () => {
        // Without versions of rows a reader would wait there for the end of the transaction.
        const hint = dialect === 'mssql' ? ' with (readpast)' : ''
        const sql = `select id from note${hint} where id = ${placeholder(0)}`
        const found = await observer.query<unknown[]>(sql, [note])
        return found.length > 0
      },
    }
  }

  return {
    ...table,
    reasons: client.reasons,
    createProvider: () => client.createProvider(options),
    createProviderInTimeZone: async (zone) => {
      if (!client.createProviderInTimeZone) throw new Error('There are no time zones.')
      return client.createProviderInTimeZone(options, zone)
    },
    beginTransaction: () => begin(false),
    beginWritingTransaction: () => begin(true),
    withTable: async (otherNames) => {
      const other = sqlEnvironment(observer, dialect, client, allowedNames(dialect, otherNames))
      await other.createTable()
      return other
    },
  }
}

/** The app's own table, beside the lock table. */
export async function createAppTables(observer: Observer): Promise<void> {
  await observer.query('create table note (id varchar(36) primary key)')
}
