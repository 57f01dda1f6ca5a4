import { isNameRefused, statementName } from '../drivers'
import type { DriverError } from '../sql'
import {
  loggerOf,
  type LoggerLike,
  type QueryResultLike,
  type QueryRunnerLike,
  type RunStatement,
} from './data-source-like'

/** What this library uses of a client of pg. What else may be under a query runner knows no names. */
interface PgClientLike {
  readonly connection?: { readonly parsedStatements?: object }
  query(statement: { name: string; text: string; values: unknown[] }): Promise<{
    rows: unknown[]
    rowCount: number | null
  }>
  end(): Promise<void>
}

/**
 * Statements that PostgreSQL keeps by name: it plans each of them once for a connection, and planning is most of what a
 * refused lock costs. Poolers that hand connations around lose names, so one that is refused is the last.
 */
export class NamedStatements {
  readonly #names = new Map<string, string>()
  #refused = false

  /**
   * @param ask runs the statement on a connection of its own, in the way that it is given
   * @param unnamed the way without names
   */
  async ask(
    ask: (run: RunStatement) => Promise<QueryResultLike>,
    unnamed: RunStatement,
  ): Promise<QueryResultLike> {
    if (this.#refused) return ask(unnamed)
    try {
      return await ask((queryRunner, text, values) => this.#run(queryRunner, text, values, unnamed))
    } catch (error) {
      if (!isNameRefused((error as DriverError).cause)) throw error
      return ask(unnamed)
    }
  }

  async #run(
    queryRunner: QueryRunnerLike,
    text: string,
    values: unknown[],
    unnamed: RunStatement,
  ): Promise<QueryResultLike> {
    const client = (await queryRunner.connect()) as PgClientLike
    if (!client.connection?.parsedStatements) return unnamed(queryRunner, text, values)
    const logger = loggerOf(queryRunner)
    logger?.logQuery(text, values)
    try {
      const { rows, rowCount } = await client.query({ name: this.#name(text), text, values })
      return { records: rows, affected: rowCount ?? undefined }
    } catch (error) {
      if (isNameRefused(error)) this.#refuse(client, error as Error, logger)
      else logger?.logQueryError(error as Error, text, values)
      throw error
    }
  }

  #name(text: string): string {
    const name = this.#names.get(text) ?? statementName(text)
    this.#names.set(text, name)
    return name
  }

  #refuse(client: PgClientLike, { message }: Error, logger: LoggerLike | undefined): void {
    // PgBouncer is about to close it, and the pool would hand it out again until then.
    client.end().catch(() => undefined)
    if (this.#refused) return
    this.#refused = true
    logger?.log(
      'warn',
      `shedlock-orm asks for locks without named statements from now on, because one was refused: ${message} – behind a pooler set namedStatements: false.`,
    )
  }
}
