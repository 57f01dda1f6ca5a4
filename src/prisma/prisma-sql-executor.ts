import { sharedByEveryCopy, warn } from '../core/internal'
import { drivers, NAME_REFUSED, nameAmong, sqlExecutor } from '../drivers/internal'
import {
  checkWritable,
  dialects,
  DriverError,
  isReadOnly,
  type DialectName,
  type SqlExecutor,
  type SqlRow,
} from '../sql/internal'
import { nativeCode, notSent, refusalOfName } from './native-code'
import { placeholderOf, type RawClientLike } from './prisma-client'

/** Calls the work with a client whose raw calls run in no transaction of the app. */
export type UseClient = <T>(work: (client: RawClientLike) => Promise<T>) => Promise<T>

/**
 * Runs each statement by a raw call. Without `RETURNING`, because libsql then counts no row; and never in a batch,
 * because Prisma puts BEGIN and COMMIT around two.
 *
 * @param leave is awaited after an error that means that the server is read-only
 * @param named lets the adapter prepare the statements about one lock by name; not in a transaction, which a refused name
 *   would abort
 */
export function prismaSqlExecutor(
  dialect: DialectName,
  use: UseClient,
  { named = false, leave }: { named?: boolean; leave?: (() => Promise<unknown>) | undefined } = {},
): SqlExecutor {
  const driver = {
    placeholder: placeholderOf(dialect),
    inAscii: drivers[dialect].inAscii,
    errorCode: nativeCode,
    notSent,
  }
  return sqlExecutor(driver, async (text, values, { parameters }, wants) => {
    const isNamed = named && parameters.includes('name')
    if (isNamed && !statements.refused) nameAmong(statements.names, text)
    try {
      const result = await use(async (client) =>
        wants === 'rows'
          ? { rows: (await client.$queryRawUnsafe(text, ...values)) as SqlRow[], changed: undefined }
          : { rows: [], changed: await client.$executeRawUnsafe(text, ...values) },
      )
      checkWritable(result.rows)
      return result
    } catch (error) {
      const code = error instanceof DriverError ? error.code : nativeCode(error)
      if (leave && isReadOnly(code, dialects[dialect].readOnlyErrors)) await leave()
      const refusal = isNamed ? refusalOfName(error) : undefined
      if (refusal === undefined) throw error
      goOnWithoutNames(refusal)
      throw new DriverError(NAME_REFUSED, error)
    }
  })
}

/**
 * The adapter looks names up by the text of a statement alone, so the names of all clients are in one place. The first texts keep
 * theirs for good: if others replaced them, each connection would keep all of them in the end.
 */
const statements = sharedByEveryCopy('lockStatementNames', () => ({
  names: new Map<string, string>(),
  refused: false,
}))

/**
 * For Prisma on PostgreSQL: names the statements of locks, so that the server plans each of them once for each connection. It does not
 * change the statements of your app.
 *
 * ```ts
 * new PrismaPg({ connectionString }, { statementNameGenerator: lockStatementName })
 * ```
 *
 * If a pooler or the server refuses a name, locks go on without names in this process, with one process warning.
 *
 * @returns the name; an empty text for a statement that is not a lock's
 */
export function lockStatementName({ sql }: { readonly sql: string }): string {
  return statements.names.get(sql) ?? ''
}

/** The statement was not executed because of its name: the lock sends it again. */
function goOnWithoutNames(refusal: string): void {
  if (statements.refused) return
  statements.refused = true
  statements.names.clear()
  warn(
    `shedlock-orm sends its statements without names from now on, because a name was refused: ${refusal} – behind a pooler leave lockStatementName out.`,
  )
}
