import type { Dialect } from '../src/sql/dialect'
import { tableSql } from '../src/sql/names'
import type { Sql } from '../src/sql/sql'
import { lockStatements } from '../src/sql/statements'

/** The statements of a lock, reduced to the keywords that decide their cost. Results are only valid for these statements. */
export interface StatementShapes {
  readonly acquire: readonly string[]
  readonly release: string
}

const DECISIVE =
  /\b(with|select|insert|update|on conflict|on duplicate key|merge|returning|for update|skip locked)\b/gi

export function statementShapes(dialect: Dialect): StatementShapes {
  const { acquire, release } = lockStatements(dialect, tableSql(dialect, {}))
  return { acquire: acquire.map(({ statement }) => shape(statement)), release: shape(release) }
}

function shape(statement: Sql): string {
  return (statement.pieces.join('?').match(DECISIVE) ?? []).join(' ').toLowerCase()
}
