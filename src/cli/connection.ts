import type { Dialect, Row, SqlLockProvider } from '../sql'

/** The lock table's database, however it was reached. */
export interface Connection {
  readonly dialect: Dialect
  readonly provider: SqlLockProvider
  /** A connection of the server that nothing else uses until it is closed. */
  openSession(): Promise<Session>
  close(): Promise<void>
}

export interface Session {
  query(text: string): Promise<readonly Row[]>
  close(): Promise<void>
}
