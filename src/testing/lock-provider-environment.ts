import type { LockProvider } from '../core/internal'

type Awaitable<T> = T | PromiseLike<T>

/** What the suite needs to know about a lock provider of any kind of storage. */
export interface LockProviderEnvironment {
  /**
   * Makes a provider as another instance of the app would: it shares the storage with the others, and nothing else. Where the storage is
   * inside of one provider object, it may return that object each time.
   */
  createProvider(): Awaitable<LockProvider>
  /** Whether the storage says, by its own clock, that somebody holds the lock. */
  isHeld(name: string): Awaitable<boolean>
}

/** A row of the lock table. */
export interface LockRow {
  readonly name: string
  /** Milliseconds since 1970 in UTC, as stored. */
  readonly lockUntil: number
  /** Milliseconds since 1970 in UTC, as stored. */
  readonly lockedAt: number
  readonly lockedBy: string
}

/** An open transaction of the app, on the client that `provider` uses too. */
export interface CallerTransaction {
  readonly provider: LockProvider
  /** Whether others can see what the transaction wrote. */
  isVisible(): Promise<boolean>
  /** Ends it, and keeps what it wrote. */
  commit(): Promise<void>
  /** Ends it, and undoes what it wrote. */
  rollback(): Promise<void>
}

/** A number that loses an update when two change it at the same time. */
export interface Counter {
  /** Reads it. */
  read(): Promise<number>
  /** Writes it, whatever it is by then. */
  write(value: number): Promise<void>
}

/** The names of a lock table; as in the options of every provider. */
export interface TableNames {
  readonly tableName?: string
  readonly columnNames?: {
    readonly name?: string
    readonly lockUntil?: string
    readonly lockedAt?: string
    readonly lockedBy?: string
  }
}

/** What the suite needs to know about a lock provider of a SQL database. What a database cannot do is left out. */
export interface SqlLockProviderEnvironment extends LockProviderEnvironment {
  /** Why something is left out. */
  readonly reasons?: Partial<
    Record<
      | 'createProviderInTimeZone'
      | 'createProviderAtTime'
      | 'beginTransaction'
      | 'beginWritingTransaction'
      | 'withTable',
      string
    >
  >
  /** The database's clock: whole milliseconds since 1970. */
  clock(): Promise<number>
  /** Reads the row past the provider; `undefined` if there is none. */
  findRow(name: string): Promise<LockRow | undefined>
  /** Writes the row past the provider. */
  insertRow(row: LockRow): Promise<void>
  /** Deletes the row past the provider. */
  deleteRow(name: string): Promise<void>
  /** Creates the lock table, as a migration would. */
  createTable(): Promise<void>
  /** Drops the lock table. */
  dropTable(): Promise<void>
  /** Creates a number in a row of its own, which starts at 0. Reading and writing it are two steps, on purpose. */
  createCounter(): Promise<Counter>

  /** A provider whose sessions have this time zone, such as `America/New_York`. */
  createProviderInTimeZone?(zone: string): Promise<LockProvider>
  /** A provider whose sessions have this time zone, and for which it is this time now (milliseconds since 1970). */
  createProviderAtTime?(zone: string, time: number): Promise<LockProvider>
  /** A transaction that has read, so that its snapshot and its time are those of its beginning. */
  beginTransaction?(): Promise<CallerTransaction>
  /** A transaction that has read and written. */
  beginWritingTransaction?(): Promise<CallerTransaction>
  /** The same database with another, new lock table. */
  withTable?(names: TableNames): Promise<SqlLockProviderEnvironment>
}

/** The names of what an environment may leave out. */
export type OptionalAbility<Environment> = {
  [Key in keyof Environment]-?: undefined extends Environment[Key] ? Key : never
}[keyof Environment] &
  string

/** What a provider is tried for, by titles. */
export type Cases<Environment> = Readonly<
  Record<string, (environment: Required<Environment>) => Promise<void>>
>

/** Cases that are skipped where the environment lacks an ability. */
export interface CasesThatNeed<Environment> {
  readonly needs: OptionalAbility<Environment>
  readonly cases: Cases<Environment>
}
