import { parseOptions, configurationError } from '../core/internal'
import {
  dialects,
  explained,
  tableSql,
  TABLE_OPTIONS,
  tableDefinition,
  type Dialect,
  type LockColumn,
  type LockTableNames,
  type LockTableOptions,
} from '../sql/internal'
import { CLIENT_DIALECTS, tableOfPrisma } from './prisma-client'

/** Prisma's name for a database in a schema's `datasource`. */
export type PrismaProvider = Parameters<typeof prismaModel>[0]

/** The column types of the migrations in Prisma's schema language: the type of a field and its native type. */
export interface FieldTypes {
  readonly text: (length: number) => string
  readonly time: string
}

const FIELD_TYPES: Readonly<Record<PrismaProvider, FieldTypes>> = {
  postgresql: { text: (length) => `String @db.VarChar(${length})`, time: 'DateTime @db.Timestamp(3)' },
  cockroachdb: { text: (length) => `String @db.String(${length})`, time: 'DateTime @db.Timestamp(3)' },
  mysql: { text: (length) => `String @db.VarChar(${length})`, time: 'DateTime @db.DateTime(3)' },
  sqlite: { text: () => 'String', time: 'DateTime' },
  sqlserver: { text: (length) => `String @db.NVarChar(${length})`, time: 'DateTime @db.DateTime2' },
}

/**
 * Returns a model of the lock table for `schema.prisma`, so that Prisma's migrations know the table and leave it alone. Locks work
 * without the model. Its `@db` is the name of the datasource: replace it if yours has another.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function prismaModel(
  provider: 'postgresql' | 'cockroachdb' | 'mysql' | 'sqlite' | 'sqlserver',
  options: LockTableOptions = {},
): string {
  parseOptions(options, TABLE_OPTIONS, 'model options')
  const { names } = tableSql(dialectOfProvider(provider, options), options)
  return modelText(names, FIELD_TYPES[provider], names.schema)
}

/** A model in Prisma's schema language, aligned as by Prisma's own formatter. */
export function modelText(
  { tableName: table, columnNames: columns }: LockTableNames,
  { text, time }: FieldTypes,
  schema?: string,
): string {
  const types = { name: text(64), lockUntil: time, lockedAt: time, lockedBy: text(255) }
  const fields = (Object.keys(types) as LockColumn[]).map((field) => {
    const [type = '', native] = types[field].split(' ')
    const id = field === 'name' ? '@id' : undefined
    const map = field === columns[field] ? undefined : `@map(${JSON.stringify(columns[field])})`
    const attributes = [id, map, native].filter((attribute) => attribute !== undefined).join(' ')
    return { field, type, attributes }
  })
  const width = Math.max(...fields.map(({ type }) => type.length))
  const lines = [
    '/// A lock of ShedLock; times are UTC.',
    'model ShedLock {',
    ...fields.map(({ field, type, attributes }) =>
      `  ${field.padEnd(9)} ${type.padEnd(width)} ${attributes}`.trimEnd(),
    ),
    '',
    `  @@map(${JSON.stringify(table)})`,
    ...(schema === undefined ? [] : [`  @@schema(${JSON.stringify(schema)})`]),
    '}',
  ]
  return `${lines.join('\n')}\n`
}

/**
 * Returns the SQL that creates the lock table, as a `migration.sql` for Prisma's `migrations` folder. Use it rather than the one that
 * `prisma migrate dev` would write: a Prisma schema cannot express the collation that keeps `Job` and `job` apart.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function prismaMigration(provider: PrismaProvider, options: LockTableOptions = {}): string {
  parseOptions(options, TABLE_OPTIONS, 'migration options')
  const dialect = dialectOfProvider(provider, options)
  // Prisma runs one migration at a time, so `create` needs no protection against a process that creates the same table.
  const { create, up } = tableDefinition({ ...dialect, table: tableOfPrisma(dialect) }, options)
  return explained([create, ...up.slice(1)])
    .map((statement) => `${statement};\n`)
    .join('\n')
}

/** What MySQL calls a schema is another database, which the models and migrations of a datasource do not reach. */
const WITHOUT_SCHEMAS: readonly PrismaProvider[] = ['mysql', 'sqlite']

/** @throws LockError `INVALID_CONFIGURATION` if Prisma cannot describe this table of the provider's database */
function dialectOfProvider(provider: PrismaProvider, { schema }: LockTableOptions): Dialect {
  const name = Object.hasOwn(FIELD_TYPES, provider) ? CLIENT_DIALECTS[provider] : undefined
  if (!name)
    throw configurationError(
      `There is no lock table for provider '${provider}' – known are ${Object.keys(FIELD_TYPES).join(', ')}.`,
    )
  if (schema !== undefined && WITHOUT_SCHEMAS.includes(provider))
    throw configurationError(
      `With provider '${provider}', Prisma's models and migrations have no schema, so they cannot describe a table in '${schema}' – keep the table in the app's own database, or create it with \`npx shedlock-orm sql ${provider} --schema ${schema}\`, and leave out the model, which locks do not need.`,
    )
  return dialects[name]
}
