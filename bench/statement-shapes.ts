import { lockStatements, tableSql, type Dialect, type Sql } from '../src/sql/internal'

/** What a lock sends, by the words that decide what it costs: figures belong to these statements. */
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
