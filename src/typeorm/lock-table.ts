import { checkOptions, invalid } from '../core'
import {
  dialectNamed,
  lockTableNames,
  SqlLockProvider,
  TABLE_OPTIONS,
  tableDefinition,
  type Dialect,
  type DialectName,
  type LockTableOptions,
} from '../sql'
import { dialectOf, inSchemaOf, type QueryRunnerLike } from './data-source-like'
import { dataSourceOf, queryRunnerSqlExecutor, runPlain } from './query-runner-sql-executor'

/** Options of `shedLockEntity`. */
export interface ShedLockEntityOptions extends LockTableOptions {
  /**
   * The database, for those who let TypeORM create the table (`synchronize`, `migration:generate`): the columns then have this
   * database's type for times, and the binary collation under which `Job` and `job` are two locks. Required on SQL Server, Spanner,
   * Oracle and SAP HANA; on the last two it also turns the default names into upper case. Default: types that suit the others.
   */
  readonly dialect?: DialectName | undefined
}

/** A row of the lock table, as the entity reads it; times are in UTC. */
export interface ShedLock {
  name: string
  lockUntil: Date
  lockedAt: Date
  lockedBy: string
}

/**
 * Makes a TypeORM `EntitySchema` of the lock table, for `entities: [shedLockEntity()]`: with it, `synchronize` and
 * `migration:generate` create the table as the migration does, and you can query the table. The locks themselves do not need it.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function shedLockEntity({ dialect, ...options }: ShedLockEntityOptions = {}) {
  checkOptions(options, TABLE_OPTIONS, 'entity options')
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

/** The migration that creates the lock table, in the form that TypeORM expects. */
export interface ShedLockMigration {
  /** TypeORM sorts migrations by the 13 digits at the end of this name, and records by it which of them were run. */
  readonly name: string
  /** Creates the lock table, unless it exists. */
  up(queryRunner: QueryRunnerLike): Promise<void>
  /** Drops the lock table. */
  down(queryRunner: QueryRunnerLike): Promise<void>
}

/**
 * Makes a migration class that creates the lock table in the database on which it is run: `migrations: [createShedLockMigration()]`,
 * or, for TypeORM's command line, a file with `export const CreateShedLock1735689600000 = createShedLockMigration()`. Its name and its
 * date (1 January 2025) never change; TypeORM runs it even if later migrations were run before. A table that already exists is left
 * as it is, unless locks would not work in it: then the migration fails with a `LockError` `TABLE_MISMATCH`, or with the database's own
 * error. For a second table extend the class, with a `name` of its own.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function createShedLockMigration(options: LockTableOptions = {}): new () => ShedLockMigration {
  // `migrations: [createShedLockMigration]`: for TypeORM the class that comes back would be a migration without up().
  if ((new.target as unknown) !== undefined)
    throw invalid(
      'createShedLockMigration makes a migration, but is not one itself – call it: migrations: [createShedLockMigration()].',
    )
  checkOptions(options, TABLE_OPTIONS, 'migration options')
  lockTableNames(options)

  return class CreateShedLock1735689600000 implements ShedLockMigration {
    readonly name: string = 'CreateShedLock1735689600000'

    async up(queryRunner: QueryRunnerLike): Promise<void> {
      const { dialect, names } = tableUnder(queryRunner, options)
      // Before the look, where it can be: a transaction of SQLite must not begin with a read.
      if (dialect.ddl.conditional)
        for (const text of tableDefinition(dialect, names).up) await runPlain(queryRunner, text, [])
      // Refuses a table that was there before and would not lock.
      const executor = queryRunnerSqlExecutor((work) => work(queryRunner), dialect.name)
      await new SqlLockProvider(executor, dialect, names).createTable()
    }

    async down(queryRunner: QueryRunnerLike): Promise<void> {
      const { dialect, names } = tableUnder(queryRunner, options)
      for (const text of tableDefinition(dialect, names).down) await runPlain(queryRunner, text, [])
    }
  }
}

/** The dialect and the names where the migration runs: in the schema of its DataSource, unless the options name another. */
function tableUnder(queryRunner: QueryRunnerLike, options: LockTableOptions) {
  const dataSource = dataSourceOf(queryRunner)?.options ?? { type: '' }
  return { dialect: dialectNamed(dialectOf(dataSource)), names: inSchemaOf(dataSource, options) }
}
