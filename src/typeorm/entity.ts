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
   * The database, for those who let TypeORM create the table (`synchronize`, `migration:generate`): the columns then have this
   * database's type for times, and the binary collation under which `Job` and `job` are two locks. Required on SQL Server, Spanner,
   * Oracle and SAP HANA; on the last two it also turns the default names into upper case. Default: types that suit the others.
   */
  readonly dialect?: DialectName | undefined
}

const OPTIONS = { ...TABLE_OPTIONS, dialect: dialectNamed } satisfies OptionChecks<ShedLockEntityOptions>

/** A row of the lock table, as the entity reads it; times are in UTC. */
export interface ShedLock {
  name: string
  lockUntil: Date
  lockedAt: Date
  lockedBy: string
}

/**
 * Creates a TypeORM `EntitySchema` of the lock table, for `entities: [shedLockEntity()]`: with it, `synchronize` and
 * `migration:generate` create the table as the migration does, and you can query the table. The locks themselves do not need it.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function shedLockEntity(options: ShedLockEntityOptions = {}) {
  checkOptions(options, OPTIONS, 'entity options')
  const { dialect } = options
  const known = dialect && dialectNamed(dialect)
  const { schema, tableName, columnNames: columns } = lockTableNames(options, known)
  const collation = known?.ddl.collation
  const text = { type: String, ...(collation === undefined ? {} : { collation }) }
  // TypeORM turns String and Date into the type of whatever database it is connected to; on SQL Server into datetime,
  // which counts in steps of 3.3 ms.
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

/** `datetime2` and 3 of `datetime2(3)`; not every type for a time has a precision. */
function timeType({ ddl }: Dialect) {
  const [, type, precision] = /^(\w+)(?:\((\d)\))?/.exec(ddl.time) ?? []
  return {
    type: type as 'datetime' | 'datetime2' | 'timestamp',
    ...(precision === undefined ? {} : { precision: Number(precision) }),
  }
}
