import { loggerOf, type QueryResultLike, type QueryRunnerLike, type RunStatement } from './data-source-like'

/** What this library uses of a connection of mysql2, and of the old mysql, which cannot prepare. */
interface MySqlConnectionLike {
  promise?(): {
    execute(text: string, values: unknown[]): Promise<[unknown[] | { affectedRows: number }, unknown]>
  }
  query?: unknown
}

/**
 * Runs a statement that is prepared on the server, so that values are bound there. TypeORM's own `query` has the driver
 * write them into the text, with quotes escaped by backslashes: under `sql_mode` NO_BACKSLASH_ESCAPES a lock's name would
 * be SQL.
 */
export const runPrepared: RunStatement = async (queryRunner, text, values) => {
  const connection = (await queryRunner.connect()) as MySqlConnectionLike
  if (connection.promise) {
    const logger = loggerOf(queryRunner)
    logger?.logQuery(text, values)
    const [result] = await connection
      .promise()
      .execute(text, values)
      .catch((error: unknown) => {
        logger?.logQueryError(error as Error, text, values)
        throw error
      })
    return Array.isArray(result) ? { records: result } : { records: [], affected: result.affectedRows }
  }
  // Aurora's Data API has no connection, and binds.
  if (!connection.query) return queryRunner.query(text, values, true)
  return runWithLiterals(queryRunner, text, values)
}

/** A buffer becomes a hexadecimal literal, which no mode misreads, and the introducer makes it text. */
function runWithLiterals(
  queryRunner: QueryRunnerLike,
  text: string,
  values: unknown[],
): Promise<QueryResultLike> {
  const isText = values.map((value) => typeof value === 'string')
  let position = 0
  const introduced = text.replaceAll('?', (hole) => (isText[position++] ? `_utf8mb4 ${hole}` : hole))
  const bytes = values.map((value) => (typeof value === 'string' ? Buffer.from(value) : value))
  return queryRunner.query(introduced, bytes, true)
}
