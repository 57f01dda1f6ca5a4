import { warn } from '../core/internal'
import { isNotPrepared } from '../drivers/internal'
import type { SqlRow, StatementResult } from '../sql/internal'
import type { DataSourceLike, QueryRunnerLike } from './data-source-like'

/** A query runner that a session uses, and the driver's own connection in it. */
export interface RunnerConnection {
  readonly dataSource: Pick<DataSourceLike, 'logger' | 'options'> | undefined
  readonly queryRunner: QueryRunnerLike
  readonly connection: object
}

/** What is to be sent. */
export interface Statement {
  readonly text: string
  readonly values: unknown[]
  /** Whether it is about a single lock, and so is sent often. */
  readonly isFrequent: boolean
  /** Whether all values are bound: none of them is a literal in the text. */
  readonly isBound: boolean
}

/** How one driver runs a statement and closes a connection, where that differs from TypeORM's own `query`. */
export interface DriverConnection {
  run(on: RunnerConnection, statement: Statement): Promise<StatementResult>
  /** Closes a connection, so that the pool opens a new one. */
  end?(connection: object): unknown
  /** Drops connections that are still being opened. @param driver TypeORM's driver */
  stopConnecting?(driver: unknown): void
}

/** Runs a statement with TypeORM's own `query`, or DDL on Spanner with `updateDDL`. */
export async function runText(
  queryRunner: QueryRunnerLike,
  text: string,
  values: unknown[] | undefined = [],
): Promise<StatementResult> {
  if (queryRunner.updateDDL && /^(create|drop) /.test(text)) {
    await queryRunner.updateDDL(text)
    return { rows: [] }
  }
  const { records, affected } = await queryRunner.query(text, values, true)
  return { rows: (records ?? []) as SqlRow[], changed: affected }
}

/** What tells the subscribers of the DataSource, in TypeORM 0.3 and 1.x. */
interface BroadcasterLike {
  broadcast(event: 'BeforeQuery' | 'AfterQuery', ...details: unknown[]): Promise<void>
}

/**
 * Runs a statement without TypeORM's `query`, and tells TypeORM's logger and subscribers as that does. An error of theirs loses no
 * lock, and no lock waits for a subscriber.
 */
export async function runLogged(
  { dataSource, queryRunner }: RunnerConnection,
  { text, values }: Statement,
  run: () => Promise<StatementResult>,
): Promise<StatementResult> {
  const { logger, options } = dataSource ?? {}
  const { broadcaster } = queryRunner as { readonly broadcaster?: BroadcasterLike }
  const tell = (event: 'BeforeQuery' | 'AfterQuery', ...details: unknown[]): void =>
    void broadcaster?.broadcast(event, text, values, ...details).catch(warn)
  const log = (write: () => unknown): void => {
    try {
      write()
    } catch (error) {
      warn(error)
    }
  }
  const limit = options?.maxQueryExecutionTime
  const started = Date.now()
  log(() => logger?.logQuery(text, values, queryRunner))
  tell('BeforeQuery')
  try {
    const result = await run()
    const duration = Date.now() - started
    if (limit && duration > limit) log(() => logger?.logQuerySlow(duration, text, values, queryRunner))
    tell('AfterQuery', true, duration, result.rows)
    return result
  } catch (error) {
    // A statement that could not be prepared has not failed: it is sent again.
    if (!isNotPrepared(error)) log(() => logger?.logQueryError(error as Error, text, values, queryRunner))
    tell('AfterQuery', false, Date.now() - started, undefined, error)
    throw error
  }
}

/** The prepared statements of each connection: all providers on it share them, so that their number is limited for all tables. */
const preparedOn = new WeakMap<object, Map<string, string>>()

/** Returns the prepared statements of a connection: their names by their SQL. */
export function statementsOn(connection: object): Map<string, string> {
  const names = preparedOn.get(connection) ?? new Map<string, string>()
  preparedOn.set(connection, names)
  return names
}
