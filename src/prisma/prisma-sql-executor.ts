import {
  DriverError,
  speller,
  type DialectName,
  type Row,
  type SqlExecutor,
  type Statement,
  type Values,
} from '../sql'
import { placeholderOf } from './client-dialects'
import { underItsName } from './lock-statement-name'
import { nativeCode } from './native-code'
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
  const spelled = speller(placeholderOf(dialect))

  const run = async <T>(
    statement: Statement,
    values: Values,
    call: (client: RawClientLike, text: string, bound: unknown[]) => PromiseLike<T>,
  ): Promise<T> => {
    const { text, bind } = spelled(statement)
    const ask = (): Promise<T> => use(async (client) => call(client, text, bind(values)))
    try {
      return await (named && statement.parameters.includes('name') ? underItsName(text, ask) : ask())
    } catch (error) {
      throw new DriverError(nativeCode(error), error)
    }
  }

  return {
    execute: (statement, values) =>
      run(statement, values, (client, text, bound) => client.$executeRawUnsafe(text, ...bound)),
    query: (statement, values) =>
      run(
        statement,
        values,
        (client, text, bound) => client.$queryRawUnsafe(text, ...bound) as PromiseLike<Row[]>,
      ),
  }
}
