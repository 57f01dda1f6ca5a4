import { invalid } from '../../core/internal'
import type { Dialect, DialectName } from '../dialect'
import { cockroachdb } from './cockroachdb'
import { hana } from './hana'
import { mssql } from './mssql'
import { mariadb, mysql } from './mysql'
import { oracle } from './oracle'
import { postgres } from './postgres'
import { spanner } from './spanner'
import { sqlite } from './sqlite'

/** The dialects by name. */
export const dialects: Readonly<Record<DialectName, Dialect>> = {
  postgres,
  cockroachdb,
  mysql,
  mariadb,
  sqlite,
  mssql,
  oracle,
  hana,
  spanner,
}

/**
 * Returns the dialect that an option names.
 *
 * @throws LockError `INVALID_CONFIGURATION` if there is none of that name
 */
export function dialectNamed(name: DialectName): Dialect {
  if (Object.hasOwn(dialects, name)) return dialects[name]
  throw invalid(`There is no dialect '${name}' – the known dialects are ${Object.keys(dialects).join(', ')}.`)
}
