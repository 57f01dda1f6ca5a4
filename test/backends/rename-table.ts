import type { DialectName } from '../../src/sql/dialect'

/** SQL that gives a table another name. */
export function renameTable(dialect: DialectName, from: string, to: string): string {
  return dialect === 'mssql' ? `exec sp_rename '${from}', '${to}'` : `alter table ${from} rename to ${to}`
}
