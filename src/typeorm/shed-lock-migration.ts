import { checkOptions, LockError } from '../core'
import {
  dialects,
  lockStatements,
  lockTable,
  lockTableNames,
  TABLE_OPTIONS,
  tableDefinition,
  tableProblem,
  type Dialect,
  type LockTableOptions,
} from '../sql'
import { CLIENT_DIALECTS } from './client-dialects'
import type { QueryRunnerLike } from './data-source-like'
import { queryRunnerSqlExecutor } from './query-runner-sql-executor'

/** What this library uses of TypeORM's `QueryRunner` in a migration: `dataSource` in 1.x, `connection` in 0.3. */
export interface MigrationQueryRunnerLike {
  readonly connection?: { readonly options: { readonly type: string } }
  readonly dataSource?: { readonly options: { readonly type: string } }
  /** Runs one statement in the migration's transaction, if it has one. */
  query(query: string, parameters?: unknown[]): Promise<unknown>
  /** Spanner's: there a definition is no statement. */
  updateDDL?(query: string): Promise<unknown>
}

/** What TypeORM wants of a migration. */
export interface ShedLockMigration {
  /** TypeORM sorts migrations by the 13 digits at the end, and remembers them by this name. */
  readonly name: string
  /** Makes the lock table, unless it is there. */
  up(queryRunner: MigrationQueryRunnerLike): Promise<void>
  /** Drops the lock table. */
  down(queryRunner: MigrationQueryRunnerLike): Promise<void>
}

/**
 * A migration class that makes the lock table for the database it is run on: `migrations: [createShedLockMigration()]`,
 * or, for the command line, a file with `export const CreateShedLock1735689600000 = createShedLockMigration()`. Its name
 * and its date (1 January 2025) stay the same for ever; TypeORM also runs it when younger migrations were run before. A
 * table that is there already is left as it is, unless it would not lock: then the migration fails with a `LockError`
 * `TABLE_MISMATCH`, or with the database's own error. For a second table extend the class, with a `name` of its own.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function createShedLockMigration(options: LockTableOptions = {}): new () => ShedLockMigration {
  // `migrations: [createShedLockMigration]`: TypeORM would take the class that comes back for a migration without up().
  if ((new.target as unknown) !== undefined)
    throw new LockError(
      'INVALID_CONFIGURATION',
      'createShedLockMigration makes a migration and is none – call it: migrations: [createShedLockMigration()].',
    )
  checkOptions(options, TABLE_OPTIONS, 'migration options')
  lockTableNames(options)

  return class CreateShedLock1735689600000 implements ShedLockMigration {
    readonly name: string = 'CreateShedLock1735689600000'

    async up(queryRunner: MigrationQueryRunnerLike): Promise<void> {
      const dialect = dialectOf(queryRunner)
      for (const statement of tableDefinition(dialect, options).up) await define(queryRunner, statement)
      await refuseWrongTable(queryRunner, dialect, options)
    }

    async down(queryRunner: MigrationQueryRunnerLike): Promise<void> {
      const dialect = dialectOf(queryRunner)
      for (const statement of tableDefinition(dialect, options).down) await define(queryRunner, statement)
    }
  }
}

function define(queryRunner: MigrationQueryRunnerLike, statement: string): Promise<unknown> {
  return queryRunner.updateDDL && /^(create|drop) /.test(statement)
    ? queryRunner.updateDDL(statement)
    : queryRunner.query(statement)
}

function dialectOf(queryRunner: MigrationQueryRunnerLike): Dialect {
  const type = (queryRunner.dataSource ?? queryRunner.connection)?.options.type ?? ''
  const name = CLIENT_DIALECTS[type]
  if (name) return dialects[name]
  throw new LockError(
    'INVALID_CLIENT',
    `There is no lock table for a DataSource of type '${type}' – supported are ${Object.keys(CLIENT_DIALECTS).join(', ')}.`,
  )
}

/** A table that was there before the migration. */
async function refuseWrongTable(
  queryRunner: MigrationQueryRunnerLike,
  dialect: Dialect,
  options: LockTableOptions,
): Promise<void> {
  const table = lockTable(dialect, options)
  const executor = queryRunnerSqlExecutor(
    (work) => work(queryRunner as unknown as QueryRunnerLike),
    dialect.name,
  )
  const values = { schema: table.names.schema ?? null, table: table.names.table }
  const described = await executor.query(lockStatements(dialect, table).describe, values)
  const problem = tableProblem(dialect, table, described)
  if (problem) throw problem
}
