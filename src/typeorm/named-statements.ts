import { isNameRefused, NAME_REFUSED, statementName } from '../drivers'
import { DriverError } from '../sql'
import { loggerOf, type LoggerLike, type RunStatement } from './data-source-like'

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
 * refused lock costs. Poolers that hand connections around lose names, so one that is refused is the last: it was not
 * executed, and the lock asks again.
 */
export function namedStatements(unnamed: RunStatement): RunStatement {
  const names = new Map<string, string>()
  let refused = false

  const nameOf = (text: string): string => {
    const name = names.get(text) ?? statementName(text)
    names.set(text, name)
    return name
  }
  const refuse = (client: PgClientLike, { message }: Error, logger: LoggerLike | undefined): void => {
    // PgBouncer is about to close it, and the pool would hand it out again until then.
    client.end().catch(() => undefined)
    if (refused) return
    refused = true
    logger?.log(
      'warn',
      `shedlock-orm asks for locks without named statements from now on, because one was refused: ${message} – behind a pooler set namedStatements: false.`,
    )
  }

  return async (queryRunner, text, values) => {
    if (refused) return unnamed(queryRunner, text, values)
    const client = (await queryRunner.connect()) as PgClientLike
    if (!client.connection?.parsedStatements) return unnamed(queryRunner, text, values)
    const logger = loggerOf(queryRunner)
    logger?.logQuery(text, values)
    try {
      const { rows, rowCount } = await client.query({ name: nameOf(text), text, values })
      return { records: rows, affected: rowCount ?? undefined }
    } catch (error) {
      if (isNameRefused(error)) {
        refuse(client, error as Error, logger)
        throw new DriverError(NAME_REFUSED, error)
      }
      logger?.logQueryError(error as Error, text, values)
      throw error
    }
  }
}
