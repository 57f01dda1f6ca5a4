import { NAME_REFUSED, sqlExecutor } from '../drivers'
import { DriverError, type DialectName, type Row, type SqlExecutor } from '../sql'
import { placeholderOf } from './client-dialects'
import { goOnWithoutNames, rememberName } from './lock-statement-name'
import { nativeCode, refusalOfName } from './native-code'
import type { RawClientLike } from './prisma-client-like'

/** Gives the work a client whose raw calls run in no transaction of the app. */
export type UseClient = <T>(work: (client: RawClientLike) => Promise<T>) => Promise<T>

/**
 * Runs each statement by a raw call. Without `RETURNING`, because libsql then counts no row; and never in a batch,
 * because Prisma puts BEGIN and COMMIT around two.
 *
 * @param named lets the adapter prepare what is asked about one lock by name; not in a transaction, which a refused name
 *   would abort
 */
export function prismaSqlExecutor(dialect: DialectName, use: UseClient, { named = false } = {}): SqlExecutor {
  const driver = { placeholder: placeholderOf(dialect), errorCode: nativeCode }
  return sqlExecutor(driver, async (text, values, { parameters }, wants) => {
    const isNamed = named && parameters.includes('name')
    if (isNamed) rememberName(text)
    try {
      return await use(async (client) =>
        wants === 'rows'
          ? { rows: (await client.$queryRawUnsafe(text, ...values)) as Row[], changed: undefined }
          : { rows: [], changed: await client.$executeRawUnsafe(text, ...values) },
      )
    } catch (error) {
      const refusal = isNamed ? refusalOfName(error) : undefined
      if (refusal === undefined) throw error
      goOnWithoutNames(refusal)
      throw new DriverError(NAME_REFUSED, error)
    }
  })
}
