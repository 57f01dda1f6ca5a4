import { dialects, migrationScripts, type DialectName } from '../src/sql/internal'

/** The databases that dbmate has a driver for. */
const DBMATE: readonly DialectName[] = ['postgres', 'cockroachdb', 'mysql', 'mariadb', 'sqlite']

/** All that belongs under `migrations/`: path → text. */
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
