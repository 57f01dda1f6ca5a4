import type { LockError } from '../core'
import type { Asking } from './asking'
import { tableDefinition } from './create-table'
import type { Dialect } from './dialect'
import type { LockTable } from './lock-table'
import type { SqlExecutor } from './sql-executor'
import { raw } from './statement'

/**
 * Makes the table unless it is there. However many sessions do it at the same time, each succeeds.
 *
 * @param problem what is wrong with the table as it is now
 */
export async function makeTable(
  dialect: Dialect,
  { names }: LockTable,
  executor: SqlExecutor,
  asking: Asking,
  within: number,
  problem: (cause?: unknown) => Promise<LockError | undefined>,
): Promise<void> {
  const before = await problem()
  if (!before) return
  if (before.code !== 'TABLE_MISSING') throw before
  const { schema, table: tableName, columns: columnNames } = names
  try {
    for (const statement of tableDefinition(dialect, { schema, tableName, columnNames }).up)
      await asking.ask({
        within,
        again: ['busy', 'conflict'],
        attempt: () => executor.execute(raw(statement), {}),
      })
  } catch (error) {
    // Another session may have been faster.
    const after = await problem(error)
    if (after) throw after.code === 'TABLE_MISSING' ? error : after
  }
}
