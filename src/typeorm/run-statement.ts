import { isNameRefused, mysqlLiteral, NAME_REFUSED, nameAmong } from '../drivers/internal'
import { DriverError } from '../sql/internal'
import { dataSourceOf, type QueryRunnerLike } from './data-source-like'

/** One statement and the connection to run it on. */
interface StatementOnConnection {
  readonly queryRunner: QueryRunnerLike
  /** The driver's own connection. */
  readonly connection: unknown
  readonly text: string
  readonly values: unknown[]
  /** The number of parameters. It exceeds the number of values if some of them are literals in the text. */
  readonly parameters: number
}

/** Runs one statement. */
export type RunStatement = (statement: StatementOnConnection) => ReturnType<QueryRunnerLike['query']>

/** Runs a statement with TypeORM's own `query`, or DDL on Spanner with `updateDDL`. */
export const runPlain = async ({
  queryRunner,
  text,
  values,
}: Pick<StatementOnConnection, 'queryRunner' | 'text' | 'values'>) => {
  if (!queryRunner.updateDDL || !/^(create|drop) /.test(text)) return queryRunner.query(text, values, true)
  await queryRunner.updateDDL(text)
  return { records: [] }
}

/**
 * The prepared statements of each connection. All providers on it share them, so that their number is limited for all tables
 * together.
 */
const preparedOn = new WeakMap<object, Map<string, string>>()

/** @returns `undefined` when the connection already has as many prepared statements as it may */
function nameOn(connection: object, text: string): string | undefined {
  const names = preparedOn.get(connection) ?? new Map<string, string>()
  preparedOn.set(connection, names)
  return nameAmong(names, text)
}

/** Logs a statement that bypasses TypeORM's `query` to TypeORM's logger. */
async function logged<T>(
  { queryRunner, text, values }: StatementOnConnection,
  run: () => Promise<T>,
): Promise<T> {
  const logger = dataSourceOf(queryRunner)?.logger
  logger?.logQuery(text, values)
  try {
    return await run()
  } catch (error) {
    // A refused name is not a failure: the statement is sent again without it.
    if (!isNameRefused(error)) logger?.logQueryError(error as Error, text, values)
    throw error
  }
}

/** What this library uses of a pg client. Any other connection of a query runner has no `parsedStatements`, and gets no names. */
interface PgClientLike {
  readonly connection?: { readonly parsedStatements?: object }
  query(statement: { name: string; text: string; values: unknown[] }): Promise<{
    rows: unknown[]
    rowCount: number | null
  }>
  end(): Promise<void>
}

/**
 * Runs statements that PostgreSQL prepares by name, and so plans only once per connection: planning is most of the cost of a refused
 * lock. A pooler that switches connections loses the names. After the first refusal no more names are sent, and the refused
 * statement, which was not executed, is sent again.
 */
export function namedStatements(): RunStatement {
  let refused = false

  const refuse = (client: PgClientLike, queryRunner: QueryRunnerLike, { message }: Error): void => {
    // PgBouncer is about to close this connection, and until then the pool would lend it again.
    client.end().catch(() => undefined)
    if (refused) return
    refused = true
    dataSourceOf(queryRunner)?.logger?.log(
      'warn',
      `shedlock-orm sends its statements without names from now on, because a name was refused: ${message} – behind a pooler set namedStatements: false.`,
    )
  }

  return async (statement) => {
    const { queryRunner, text, values } = statement
    const client = statement.connection as PgClientLike
    const name = !refused && client.connection?.parsedStatements ? nameOn(client, text) : undefined
    if (name === undefined) return runPlain(statement)
    try {
      const { rows, rowCount } = await logged(statement, () => client.query({ name, text, values }))
      return { records: rows, affected: rowCount ?? undefined }
    } catch (error) {
      if (!isNameRefused(error)) throw error
      refuse(client, queryRunner, error as Error)
      throw new DriverError(NAME_REFUSED, error)
    }
  }
}

type MySqlResult = unknown[] | { affectedRows: number }

/** What this library uses of a mysql2 connection. The older mysql driver has no `execute`. */
interface MySqlConnectionLike {
  /** Takes a callback, because mysql2's promise API captures a stack trace on each call, which doubles the cost. */
  execute?(
    text: string,
    values: unknown[],
    callback: (error: Error | null, result: MySqlResult) => void,
  ): unknown
  query?: unknown
}

/**
 * Runs a statement that is prepared on the server, where its values are bound. With TypeORM's own `query` the driver writes them
 * into the text and escapes quotes with backslashes, so under `sql_mode` NO_BACKSLASH_ESCAPES a lock's name could inject SQL. If
 * the connection has no room for another prepared statement, or the text already contains a literal, all values become literals,
 * because preparing the statement would take an additional round trip each time.
 */
export const preparedStatement: RunStatement = async (statement) => {
  const { queryRunner, text, values, parameters } = statement
  const connection = statement.connection as MySqlConnectionLike
  if (connection.execute && values.length === parameters && nameOn(connection, text) !== undefined) {
    const result = await logged(statement, () => execute(connection, text, values))
    return Array.isArray(result) ? { records: result } : { records: [], affected: result.affectedRows }
  }
  // Aurora's Data API has no connection, and binds the values itself.
  if (!connection.query) return runPlain(statement)
  // A question mark in a quoted name is not a placeholder.
  let position = 0
  const fill = (part: string): string => (part === '?' ? literal(values[position++]) : part)
  return queryRunner.query(text.replace(/`[^`]*`|\?/g, fill), undefined, true)
}

function execute(connection: MySqlConnectionLike, text: string, values: unknown[]): Promise<MySqlResult> {
  return new Promise((resolve, reject) => {
    connection.execute?.(text, values, (error, result) => {
      if (error) reject(error)
      else resolve(result)
    })
  })
}

function literal(value: unknown): string {
  return typeof value === 'string' ? mysqlLiteral(value) : String(value)
}
