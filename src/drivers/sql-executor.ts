import { LockError } from '../core'
import { DriverError, speller, type Row, type SqlExecutor, type Statement, type Values } from '../sql'
import type { Driver } from './driver'

/** What a client answers to one statement. */
export interface Answer {
  /** Empty for a statement that finds none. */
  readonly rows: readonly Row[]
  /** How many rows were changed. A lock that is acquired by a statement whose client does not tell is an error. */
  readonly changed: number | bigint | null | undefined
}

/** A value to bind. */
export type BoundValue = string | number | null

/**
 * Binds a client on top of one of the drivers: with it a `SqlLockProvider` is made.
 *
 * ```ts
 * const executor = sqlExecutor(drivers.postgres, async (text, values) => {
 *   const { rows, rowCount } = await pool.query(text, values)
 *   return { rows, changed: rowCount }
 * })
 * const provider = new SqlLockProvider(executor, dialects.postgres)
 * ```
 *
 * @param run runs one statement: alone, in autocommit, on a connection that no transaction of the app uses, its values bound
 *   and not written into the text. Rejects with the driver's own error. `statement` is the same before it was spelled; `wants`
 *   says which part of the answer is used.
 */
export function sqlExecutor(
  { placeholder, errorCode }: Driver,
  run: (text: string, values: BoundValue[], statement: Statement, wants: keyof Answer) => Promise<Answer>,
): SqlExecutor {
  const spelled = speller(placeholder)
  const answer = async (statement: Statement, values: Values, wants: keyof Answer): Promise<Answer> => {
    const { text, bind } = spelled(statement)
    try {
      return await run(text, bind(values), statement, wants)
    } catch (error) {
      if (error instanceof DriverError || error instanceof LockError) throw error
      throw new DriverError(errorCode(error as object), error)
    }
  }
  return {
    execute: async (statement, values) => Number((await answer(statement, values, 'changed')).changed ?? NaN),
    query: async (statement, values) => (await answer(statement, values, 'rows')).rows,
  }
}
