import type { Dialect, DialectName } from '../dialect'
import { cockroachdb } from './cockroachdb'
import { mariadb } from './mariadb'
import { mssql } from './mssql'
import { mysql } from './mysql'
import { oracle } from './oracle'
import { postgres } from './postgres'
import { sqlite } from './sqlite'

/** The dialects by name. */
export const dialects: Readonly<Partial<Record<DialectName, Dialect>>> = {
  postgres,
  cockroachdb,
  mysql,
  mariadb,
  sqlite,
  mssql,
  oracle,
}
