import { sharedByEveryCopy, warn } from '../core/internal'
import { drivers, nameAmong, sqlClient, type Driver } from '../drivers/internal'
import { DriverError, NOT_PREPARED, type DialectName, type SqlClient, type SqlRow } from '../sql/internal'
import { errorsOf, refusalOfName } from './native-code'
import { PLACEHOLDERS, type RawClientLike } from './prisma-client'

/** Calls the work with a client whose raw calls never join a transaction of the app. */
export type UseClient = <T>(work: (client: RawClientLike) => Promise<T>) => Promise<T>

/**
 * Runs each statement with a raw call. Statements have no `RETURNING`, because libsql would then report no changed rows. They are
 * never sent as a batch, because Prisma puts BEGIN and COMMIT around it.
 *
 * @param named lets the adapter prepare the statements about a single lock by name. Must be false inside a transaction, which a
 *   refused name would abort
 */
export function prismaSqlClient(dialect: DialectName, use: UseClient, named = false): SqlClient {
  const driver = {
    placeholder: placeholderOf(dialect),
    inAscii: drivers[dialect].inAscii,
    settled: drivers[dialect].settled,
    ...errorsOf(dialect),
  }
  return sqlClient(driver, async (text, values, { parameters }, wants) => {
    const isNamed = named && parameters.includes('name')
    if (isNamed && !statements.refused) nameAmong(statements.names, text)
    try {
      return await use(async (client) =>
        wants === 'rows'
          ? { rows: (await client.$queryRawUnsafe(text, ...values)) as SqlRow[] }
          : { rows: [], changed: await client.$executeRawUnsafe(text, ...values) },
      )
    } catch (error) {
      const refusal = isNamed ? refusalOfName(error) : undefined
      if (refusal === undefined) throw error
      stopNaming(refusal)
      throw new DriverError(NOT_PREPARED, error)
    }
  })
}

/**
 * The names of all clients' statements, because the adapter passes `lockStatementName` nothing but the SQL. The first statements keep
 * their names for good: if others replaced them, each connection would eventually keep all of them prepared.
 */
const statements = sharedByEveryCopy('lockStatementNames', () => ({
  names: new Map<string, string>(),
  refused: false,
}))

/**
 * Names lock statements for Prisma on PostgreSQL, so that the server plans each of them once per connection. It does not affect your
 * app's statements.
 *
 * ```ts
 * new PrismaPg({ connectionString }, { statementNameGenerator: lockStatementName })
 * ```
 *
 * If a pooler or the server refuses a name, this process emits a warning and continues without names.
 *
 * @returns the name; an empty string for a statement that is not a lock's
 */
export function lockStatementName({ sql }: { readonly sql: string }): string {
  return statements.names.get(sql) ?? ''
}

/** Sends all further statements without names, and warns once. */
function stopNaming(refusal: string): void {
  if (statements.refused) return
  statements.refused = true
  statements.names.clear()
  warn(
    `shedlock-orm sends its statements without names from now on, because a prepared one was refused: ${refusal} – behind a pooler leave lockStatementName out.`,
  )
}

export function placeholderOf(dialect: DialectName): Driver['placeholder'] {
  return PLACEHOLDERS[dialect] ?? drivers[dialect].placeholder
}
