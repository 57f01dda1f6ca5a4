import { dialects } from '../src/sql/dialects'
import type { DialectName } from '../src/sql/dialect'
import { migrationScripts } from '../src/sql/table/definition'

/** The databases for which dbmate has a driver. */
const DBMATE: readonly DialectName[] = ['postgres', 'cockroachdb', 'mysql', 'mariadb', 'sqlite']

/** Returns the contents of the folder `migrations`, by path. */
export function migrationFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const dialect of Object.values(dialects)) {
    const { up, down, dbmate } = migrationScripts(dialect)
    files.set(`${dialect.name}/up.sql`, up)
    files.set(`${dialect.name}/down.sql`, down)
    if (DBMATE.includes(dialect.name)) files.set(`${dialect.name}/dbmate.sql`, dbmate)
  }
  return files
}
