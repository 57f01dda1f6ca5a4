import { warn } from '../core/internal'
import { isNotPrepared } from '../drivers/internal'
import { DriverError, NOT_PREPARED, type Sql, type SqlRow, type StatementResult } from '../sql/internal'
import type { DataSourceLike, QueryRunnerLike } from './data-source-like'

/** A query runner that a session uses, and the driver's own connection in it. */
export interface RunnerConnection {
  readonly dataSource: Pick<DataSourceLike, 'logger' | 'options' | 'subscribers'> | undefined
  readonly queryRunner: QueryRunnerLike
  /** Empty if the query runner does not expose it, such as that of SQL Server, which connects only when it queries. */
  readonly connection: object
}

/** How one driver runs a statement and closes a connection, where that differs from TypeORM's own `query`. */
export interface DriverConnection {
  run(on: RunnerConnection, text: string, values: unknown[], statement: Sql): Promise<StatementResult>
  /** Returns the schema with which connections begin, if it is known. @param driver TypeORM's driver */
  schema?(driver: unknown): string | undefined
  /** Whether a transaction is open on the connection, if the driver knows. */
  isInTransaction?(connection: object): boolean
  /** Closes a connection, so that the pool opens a new one. */
  end?(connection: object): unknown
  /** Borrows a connection, and notes which one the pool opens for that. @param driver TypeORM's driver */
  connect?(driver: unknown, queryRunner: QueryRunnerLike): Promise<unknown>
  /** Drops those that have been opening for too long. @param driver TypeORM's driver */
  dropUnaccepted?(driver: unknown): void
}

/** Runs a statement with TypeORM's own `query`, or DDL on Spanner with `updateDDL`. */
export async function runText(
  queryRunner: QueryRunnerLike,
  text: string,
  values: unknown[] = [],
): Promise<StatementResult> {
  if (queryRunner.updateDDL && /^(create|drop) /.test(text)) {
    await queryRunner.updateDDL(text)
    return { rows: [] }
  }
  const { records, affected } = await queryRunner.query(text, values, true)
  return { rows: (records ?? []) as SqlRow[], changed: affected }
}

/** What informs the subscribers of a DataSource, in TypeORM 0.3 and 1. */
interface BroadcasterLike {
  broadcast(event: 'BeforeQuery' | 'AfterQuery', ...details: unknown[]): Promise<void>
}

/** Sends prepared statements, until one cannot be prepared: from then on, the client sends all of them unprepared. */
export class Preparation {
  /** @param warning creates the warning that no more statements are prepared */
  constructor(
    public isOn: boolean,
    private readonly warning: (reason: string) => string,
  ) {}

  /**
   * Runs a statement without TypeORM's `query`, and informs TypeORM's logger and subscribers as that does. No error of theirs loses a
   * lock, and no lock waits for a subscriber.
   *
   * @throws DriverError `NOT_PREPARED`: it was not executed, and is sent again
   */
  async run(
    { dataSource, queryRunner }: RunnerConnection,
    text: string,
    values: unknown[],
    send: () => Promise<StatementResult>,
  ): Promise<StatementResult> {
    const { logger, options, subscribers = [] } = dataSource ?? {}
    const { broadcaster } = queryRunner as { readonly broadcaster?: BroadcasterLike }
    const broadcast = (event: 'BeforeQuery' | 'AfterQuery', ...details: unknown[]): void => {
      if (subscribers.length > 0) void broadcaster?.broadcast(event, text, values, ...details).catch(warn)
    }
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
    broadcast('BeforeQuery')
    try {
      const result = await send()
      const duration = Date.now() - started
      if (limit && duration > limit) log(() => logger?.logQuerySlow(duration, text, values, queryRunner))
      broadcast('AfterQuery', true, duration, result.rows)
      return result
    } catch (error) {
      broadcast('AfterQuery', false, Date.now() - started, undefined, error)
      // A statement that could not be prepared has not failed: it is sent again.
      if (!isNotPrepared(error)) {
        log(() => logger?.logQueryError(error as Error, text, values, queryRunner))
        throw error
      }
      if (this.isOn) log(() => logger?.log('warn', this.warning((error as Error).message)))
      this.isOn = false
      throw new DriverError(NOT_PREPARED, error)
    }
  }
}
