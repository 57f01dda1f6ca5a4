import { checkOptions, invalid } from '../core/internal'
import {
  dialectNamed,
  lockTableNames,
  SqlLockProvider,
  TABLE_OPTIONS,
  tableDefinition,
  type LockTableOptions,
} from '../sql/internal'
import { dataSourceOf, dialectOf, inSchemaOf, type QueryRunnerLike } from './data-source-like'
import { givenQueryRunner, queryRunnerSqlExecutor } from './query-runner-sql-executor'
import { runPlain } from './run-statement'

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
 * Creates a migration class that creates the lock table in the database on which it is run: `migrations: [createShedLockMigration()]`,
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
        for (const text of tableDefinition(dialect, names).up)
          await runPlain({ queryRunner, text, values: [] })
      // Refuses a table that was there before and would not lock.
      const executor = queryRunnerSqlExecutor(givenQueryRunner(queryRunner, dialect.name), dialect.name)
      await new SqlLockProvider(executor, dialect, names).createTable()
    }

    async down(queryRunner: QueryRunnerLike): Promise<void> {
      const { dialect, names } = tableUnder(queryRunner, options)
      for (const text of tableDefinition(dialect, names).down)
        await runPlain({ queryRunner, text, values: [] })
    }
  }
}

/** The dialect and the names where the migration runs: in the schema of its DataSource, unless the options name another. */
function tableUnder(queryRunner: QueryRunnerLike, options: LockTableOptions) {
  const dataSource = dataSourceOf(queryRunner)?.options ?? { type: '' }
  return { dialect: dialectNamed(dialectOf(dataSource)), names: inSchemaOf(dataSource, options) }
}
