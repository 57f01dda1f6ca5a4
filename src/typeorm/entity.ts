import { parseOptions, configurationError, type OptionParsers } from '../core/internal'
import {
  dialectNamed,
  lockTableNames,
  TABLE_OPTIONS,
  type Dialect,
  type DialectName,
  type LockColumnNames,
  type LockTableNames,
  type LockTableOptions,
} from '../sql/internal'
import { SCHEMA_OF_ENTITY, type DataSourceLike } from './data-source-like'

/** Options of `shedLockEntity`. */
export interface ShedLockEntityOptions extends LockTableOptions {
  /**
   * The database's dialect. Set it if TypeORM creates the table (`synchronize`, `migration:generate`): the columns then get this
   * database's timestamp type, and a binary collation so that `Job` and `job` are two locks. Required with a `schema`, and on SQL
   * Server, Spanner, Oracle and SAP HANA; on the last two it also turns the default names into upper case. Default: types that suit
   * all other databases.
   */
  readonly dialect?: DialectName | undefined
}

const OPTIONS = { ...TABLE_OPTIONS, dialect: dialectNamed } satisfies OptionParsers<ShedLockEntityOptions>

/** A row of the lock table as the entity reads it. Times are in UTC. */
export interface ShedLock {
  name: string
  lockUntil: Date
  lockedAt: Date
  lockedBy: string
}

/**
 * Creates a TypeORM `EntitySchema` for the lock table, to be listed in `entities: [shedLockEntity()]`. With it, `synchronize` and
 * `migration:generate` create the table as the migration does, and you can query the table: `getRepository<ShedLock>(entity)`. Locks
 * work without it. Its name is `ShedLock`, followed by the schema and the table's name if you set them, so that a DataSource may
 * have several.
 *
 * @throws LockError `INVALID_CONFIGURATION`, also for a `schema` without a `dialect`, and for names that TypeORM would split
 */
export function shedLockEntity(options: ShedLockEntityOptions = {}) {
  const { dialect: known } = parseOptions(options, OPTIONS, 'entity options')
  const { schema, tableName, columnNames: columns } = lockTableNames(options, known)
  if (`${schema ?? ''}${tableName}`.includes('.'))
    throw configurationError(
      'TypeORM reads a dot in the name of a table as the end of its schema – set schema and tableName to names without dots, or leave out the entity, which locks do not need.',
    )
  const name = nameOfEntity(options)
  const collation = known?.table.collation
  const text = { type: String, ...(collation === undefined ? {} : { collation }) }
  // TypeORM maps String and Date to column types of the connected database. On SQL Server, Date becomes `datetime`, which rounds to
  // 3.3 ms, so a known dialect sets its own type.
  const time = known ? timeType(known) : { type: Date, precision: 3 }
  return {
    '@instanceof': Symbol.for('EntitySchema'),
    /** Of the repository's injection token in NestJS, which takes this object for a class. */
    name,
    options: {
      name,
      tableName,
      ...(schema === undefined ? {} : schemaOfEntity(schema, known)),
      columns: {
        name: { ...text, name: columns.name, length: 64, primary: true },
        lockUntil: { ...time, name: columns.lockUntil },
        lockedAt: { ...time, name: columns.lockedAt },
        lockedBy: { ...text, name: columns.lockedBy, length: 255 },
      },
    },
  }
}

/** A name for each table, because TypeORM and NestJS find entities by their names. */
function nameOfEntity({ schema, tableName }: LockTableOptions): string {
  return ['ShedLock', schema, tableName].filter((part) => part !== undefined).join('_')
}

function schemaOfEntity(
  schema: string,
  dialect: Dialect | undefined,
): { schema?: string; database?: string } {
  if (!dialect)
    throw configurationError(
      "What TypeORM calls the schema of an entity depends on the database – set dialect too, such as shedLockEntity({ schema, dialect: 'postgres' }).",
    )
  const member = SCHEMA_OF_ENTITY[dialect.name] ?? 'schema'
  if (member === 'none')
    throw configurationError(`TypeORM's entities have no schema on ${dialect.name} – leave out schema.`)
  return { [member]: schema }
}

/**
 * Returns the table that `shedLockEntity(options)` means in this DataSource, whose naming strategy and `entityPrefix` also change
 * names that were given, and whose schema is the default. Provider and migration use it too, so that all of them mean one table.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function tableIn(
  dataSource: Pick<DataSourceLike, 'options' | 'namingStrategy'>,
  dialect: Dialect,
  options: LockTableOptions,
): LockTableNames {
  const { namingStrategy: strategy } = dataSource
  const { schema: ownSchema, entityPrefix } = dataSource.options
  const { schema, tableName, columnNames } = lockTableNames(options, dialect)
  const hasOwn = typeof ownSchema === 'string' && ownSchema !== '' && !SCHEMA_OF_ENTITY[dialect.name]
  const named = strategy?.tableName(nameOfEntity(options), tableName) ?? tableName
  const prefixed = typeof entityPrefix === 'string' && entityPrefix !== ''
  const columns = Object.entries(columnNames).map(([property, given]) => [
    property,
    strategy?.columnName(property, given, []) ?? given,
  ])
  return lockTableNames({
    schema: schema ?? (hasOwn ? ownSchema : undefined),
    tableName: prefixed ? (strategy?.prefixTableName(entityPrefix, named) ?? entityPrefix + named) : named,
    columnNames: Object.fromEntries(columns) as LockColumnNames,
  })
}

/** Splits a column type such as `datetime2(3)` into `datetime2` and its precision 3. Some databases' types have no precision. */
function timeType({ table }: Dialect) {
  const [, type, precision] = /^(\w+)(?:\((\d)\))?/.exec(table.time) ?? []
  return {
    type: type as 'datetime' | 'datetime2' | 'timestamp',
    ...(precision === undefined ? {} : { precision: Number(precision) }),
  }
}
