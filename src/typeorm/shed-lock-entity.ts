import { checkOptions } from '../core'
import {
  dialectNamed,
  lockTableNames,
  TABLE_OPTIONS,
  type Dialect,
  type DialectName,
  type LockTableOptions,
} from '../sql'

/** Options of `shedLockEntity`. */
export interface ShedLockEntityOptions extends LockTableOptions {
  /**
   * For those who let TypeORM make the table (`synchronize`, `migration:generate`): gives the columns this database's
   * type for a time, and the binary collation under which `Job` and `job` are two locks. Necessary on SQL Server and Spanner,
   * and on Oracle and SAP HANA, where it also turns the default names into upper case.
   */
  readonly dialect?: DialectName | undefined
}

/** A row of the lock table; times are UTC. */
export interface ShedLock {
  name: string
  lockUntil: Date
  lockedAt: Date
  lockedBy: string
}

/**
 * The lock table as a TypeORM `EntitySchema`, for `entities: [shedLockEntity()]`: so that `synchronize` and
 * `migration:generate` make the table as the migration does, and so that you can query it. The locks themselves do not need it.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function shedLockEntity({ dialect, ...options }: ShedLockEntityOptions = {}) {
  checkOptions(options, TABLE_OPTIONS, 'entity options')
  const known = dialect && dialectNamed(dialect)
  const { schema, table, columns } = lockTableNames(options, known)
  const collation = known?.ddl.collation
  const text = { type: String, ...(collation === undefined ? {} : { collation }) }
  // TypeORM turns String and Date into the type of whatever database it is connected to; on SQL Server into datetime,
  // which counts in steps of 3.3 ms.
  const time = known ? timeType(known) : { type: Date, precision: 3 }
  return {
    '@instanceof': Symbol.for('EntitySchema'),
    options: {
      name: 'ShedLock',
      tableName: table,
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

/** `datetime2` and 3 of `datetime2(3) not null`; not every type for a time has a precision. */
function timeType({ ddl }: Dialect) {
  const [, type, precision] = /^(\w+)(?:\((\d)\))?/.exec(ddl.columns.lockUntil) ?? []
  return {
    type: type as 'datetime' | 'datetime2' | 'timestamp',
    ...(precision === undefined ? {} : { precision: Number(precision) }),
  }
}
