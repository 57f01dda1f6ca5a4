import { checkOptions, type OptionChecks } from '../core/internal'
import {
  dialectNamed,
  lockTableNames,
  TABLE_OPTIONS,
  type Dialect,
  type DialectName,
  type LockTableOptions,
} from '../sql/internal'

/** Options of `shedLockEntity`. */
export interface ShedLockEntityOptions extends LockTableOptions {
  /**
   * The database's dialect. Set it if TypeORM creates the table (`synchronize`, `migration:generate`): the columns then get this
   * database's timestamp type, and a binary collation so that `Job` and `job` are two locks. Required on SQL Server, Spanner, Oracle
   * and SAP HANA; on the last two it also turns the default names into upper case. Default: types that suit all other databases.
   */
  readonly dialect?: DialectName | undefined
}

const OPTIONS = { ...TABLE_OPTIONS, dialect: dialectNamed } satisfies OptionChecks<ShedLockEntityOptions>

/** A row of the lock table as the entity reads it. Times are in UTC. */
export interface ShedLock {
  name: string
  lockUntil: Date
  lockedAt: Date
  lockedBy: string
}

/**
 * Creates a TypeORM `EntitySchema` for the lock table, to be listed in `entities: [shedLockEntity()]`. With it, `synchronize` and
 * `migration:generate` create the table as the migration does, and you can query the table. Locks work without it.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function shedLockEntity(options: ShedLockEntityOptions = {}) {
  checkOptions(options, OPTIONS, 'entity options')
  const { dialect } = options
  const known = dialect && dialectNamed(dialect)
  const { schema, tableName, columnNames: columns } = lockTableNames(options, known)
  const collation = known?.table.collation
  const text = { type: String, ...(collation === undefined ? {} : { collation }) }
  // TypeORM maps String and Date to column types of the connected database. On SQL Server, Date becomes `datetime`, which rounds to
  // 3.3 ms, so a known dialect sets its own type.
  const time = known ? timeType(known) : { type: Date, precision: 3 }
  return {
    '@instanceof': Symbol.for('EntitySchema'),
    options: {
      name: 'ShedLock',
      tableName,
      ...(schema === undefined ? {} : { schema }),
      columns: {
        name: { ...text, name: columns.name, length: 64, primary: true },
        lockUntil: { ...time, name: columns.lockUntil },
        lockedAt: { ...time, name: columns.lockedAt },
        lockedBy: { ...text, name: columns.lockedBy, length: 255 },
      },
    },
  }
}

/** Splits a column type such as `datetime2(3)` into `datetime2` and its precision 3. Some databases' types have no precision. */
function timeType({ table }: Dialect) {
  const [, type, precision] = /^(\w+)(?:\((\d)\))?/.exec(table.time) ?? []
  return {
    type: type as 'datetime' | 'datetime2' | 'timestamp',
    ...(precision === undefined ? {} : { precision: Number(precision) }),
  }
}
