import { isNameRefused, mysqlLiteral, NAME_REFUSED, nameAmong } from '../drivers/internal'
import { DriverError } from '../sql/internal'
import { dataSourceOf, type QueryRunnerLike } from './data-source-like'

/** One statement, and the connection of the query runner that runs it. */
interface StatementOnConnection {
  readonly queryRunner: QueryRunnerLike
  /** The driver's own connection. */
  readonly connection: unknown
  readonly text: string
  readonly values: unknown[]
  /** How many the statement has; more than there are values where some are literals of the text. */
  readonly parameters: number
}

/** Runs one statement. */
export type RunStatement = (statement: StatementOnConnection) => ReturnType<QueryRunnerLike['query']>

/** By TypeORM's own `query`. */
export const runPlain = async ({
  queryRunner,
  text,
  values,
}: Pick<StatementOnConnection, 'queryRunner' | 'text' | 'values'>) => {
  if (!queryRunner.updateDDL || !/^(create|drop) /.test(text)) return queryRunner.query(text, values, true)
  await queryRunner.updateDDL(text)
  return { records: [] }
}

/** The prepared statements of each connection: all providers on it share them, however many tables they have. */
const preparedOn = new WeakMap<object, Map<string, string>>()

/** @returns `undefined` when the connection keeps enough */
function nameOn(connection: object, text: string): string | undefined {
  const names = preparedOn.get(connection) ?? new Map<string, string>()
  preparedOn.set(connection, names)
  return nameAmong(names, text)
}

/** Passes a statement that bypasses TypeORM's `query` to its logger. */
async function logged<T>(
  { queryRunner, text, values }: StatementOnConnection,
  run: () => Promise<T>,
): Promise<T> {
  const logger = dataSourceOf(queryRunner)?.logger
  logger?.logQuery(text, values)
  try {
    return await run()
  } catch (error) {
    // A refused name is no failure: the statement runs again without.
    if (!isNameRefused(error)) logger?.logQueryError(error as Error, text, values)
    throw error
  }
}

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
 * Runs statements that PostgreSQL keeps by name: it plans each of them once for a connection, and planning is most of what a
 * refused lock costs. Poolers that hand connections around lose names, so one that is refused is the last: it was not
 * executed, and the lock sends it again.
 */
export function namedStatements(): RunStatement {
  let refused = false

  const refuse = (client: PgClientLike, queryRunner: QueryRunnerLike, { message }: Error): void => {
    // PgBouncer is about to close it, and the pool would hand it out again until then.
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

/** What this library uses of a connection of mysql2, and of the old mysql, which cannot prepare. */
interface MySqlConnectionLike {
  /** With a callback: the promises of mysql2 make a stack for each call, which costs as much as the rest. */
  execute?(
    text: string,
    values: unknown[],
    callback: (error: Error | null, result: MySqlResult) => void,
  ): unknown
  query?: unknown
}

/**
 * Runs a statement that is prepared on the server, so that values are bound there. TypeORM's own `query` has the driver
 * write them into the text, with quotes escaped by backslashes: under `sql_mode` NO_BACKSLASH_ESCAPES a lock's name would
 * be SQL. One for which the connection has no room, and one that has a literal already, is sent with literals alone: preparing it
 * would take a round trip each time.
 */
export const preparedStatement: RunStatement = async (statement) => {
  const { queryRunner, text, values, parameters } = statement
  const connection = statement.connection as MySqlConnectionLike
  if (connection.execute && values.length === parameters && nameOn(connection, text) !== undefined) {
    const result = await logged(statement, () => execute(connection, text, values))
    return Array.isArray(result) ? { records: result } : { records: [], affected: result.affectedRows }
  }
  // Aurora's Data API has no connection, and binds.
  if (!connection.query) return runPlain(statement)
  // Placeholders are outside of quoted names.
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
