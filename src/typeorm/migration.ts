import { parseOptions, configurationError } from '../core/internal'
import {
  dialectNamed,
  lockTableNames,
  render,
  sql,
  SqlLockProvider,
  TABLE_OPTIONS,
  tableDefinition,
  type Dialect,
  type LockTableOptions,
} from '../sql/internal'
import { dialectOfDataSource, type QueryRunnerLike } from './data-source-like'
import { tableIn } from './entity'
import { givenQueryRunner, runText } from './query-runner-client'

/**
 * Returns a migration class that creates the lock table. List it in `migrations: [createShedLockMigration()]`: its name and its date
 * (1 January 2025) never change, and TypeORM runs it even if it has already run later migrations. Or extend it in a file, with a
 * `name` of its own, as `npx shedlock-orm init` does. An existing table is left unchanged. If locks would not work in it, the migration
 * fails with a `LockError` `TABLE_MISMATCH`, or with the database's own error.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function createShedLockMigration(options: LockTableOptions = {}): new () => {
  /** TypeORM sorts migrations by the 13 digits at the end of their names. */
  readonly name: string
  /** Creates the lock table, unless it exists. */
  up(queryRunner: QueryRunnerLike): Promise<void>
  /** Drops the lock table. */
  down(queryRunner: QueryRunnerLike): Promise<void>
} {
  // With `migrations: [createShedLockMigration]`, TypeORM calls this function with `new`, and would take the class that it returns
  // for a migration without up().
  if ((new.target as unknown) !== undefined)
    throw configurationError(
      'createShedLockMigration creates a migration, but is not one itself – call it: migrations: [createShedLockMigration()].',
    )
  parseOptions(options, TABLE_OPTIONS, 'migration options')
  lockTableNames(options)

  class Migration {
    async up(queryRunner: QueryRunnerLike): Promise<void> {
      const { dialect, names } = tableUnder(queryRunner, options)
      // Where the dialect has `create table if not exists`, create before table.create() below inspects the table: SQLite may refuse
      // the write lock to a transaction that began with a read.
      if (dialect.table.conditional)
        for (const text of tableDefinition(dialect, names).up) await runText(queryRunner, text)
      // Rejects an existing table in which locks would not work.
      const client = givenQueryRunner(queryRunner, dialect.name)
      const schema = names.schema ?? (await sessionSchema(queryRunner, dialect))
      await new SqlLockProvider(client, dialect, { ...names, schema }).table.create()
    }

    async down(queryRunner: QueryRunnerLike): Promise<void> {
      const { dialect, names } = tableUnder(queryRunner, options)
      for (const text of tableDefinition(dialect, names).down) await runText(queryRunner, text)
    }
  }
  // A function, because code that is compiled to ES5 cannot extend a class.
  function CreateShedLock1735689600000(this: { name: string }): void {
    this.name = 'CreateShedLock1735689600000'
  }
  CreateShedLock1735689600000.prototype = Migration.prototype
  return CreateShedLock1735689600000 as unknown as new () => Migration & { readonly name: string }
}

/** The schema in which a migration has created the table, because it may have set another one. */
async function sessionSchema(queryRunner: QueryRunnerLike, { table }: Dialect): Promise<string | undefined> {
  if (!table.sessionSchema) return undefined
  const { rows } = await runText(queryRunner, render(sql`select ${table.sessionSchema} as session_schema`))
  return (rows[0]?.['session_schema'] as string | null | undefined) ?? undefined
}

/** The dialect of the query runner's DataSource, and the table's names in it. */
function tableUnder(queryRunner: QueryRunnerLike, options: LockTableOptions) {
  const dataSource = queryRunner.dataSource ?? queryRunner.connection ?? { options: { type: '' } }
  const dialect = dialectNamed(dialectOfDataSource(dataSource.options))
  return { dialect, names: tableIn(dataSource, dialect, options) }
}
