import { dialects, type DialectName } from '../src/sql/dialects'
import { migrationScripts } from '../src/sql/table/definition'

/** Whether dbmate has a driver for the database. */
const DBMATE: Readonly<Record<DialectName, boolean>> = {
  postgres: true,
  cockroachdb: true,
  mysql: true,
  mariadb: true,
  sqlite: true,
  mssql: false,
  oracle: false,
  hana: false,
  spanner: false,
}

/** Returns the contents of the folder `migrations`, by path. */
export function migrationFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const dialect of Object.values(dialects)) {
    const { up, down, dbmate } = migrationScripts(dialect)
    files.set(`${dialect.name}/up.sql`, up)
    files.set(`${dialect.name}/down.sql`, down)
    if (DBMATE[dialect.name]) files.set(`${dialect.name}/dbmate.sql`, dbmate)
  }
  return files
}
