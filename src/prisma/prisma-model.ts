import { checkOptions, LockError } from '../core'
import { dialects, lockTable, TABLE_OPTIONS, type Dialect, type LockTableOptions } from '../sql'
import { CLIENT_DIALECTS } from './client-dialects'

/** Prisma's name for a database in a schema's `datasource`. */
export type PrismaProvider = 'postgresql' | 'cockroachdb' | 'mysql' | 'sqlite' | 'sqlserver'

/** The native types of the migrations' columns, in Prisma's words. */
interface NativeTypes {
  readonly text: (length: number) => string
  readonly time: string
  /** Where Prisma would not know the type of a time that the other migrations give: the one it does know. */
  readonly columnOfTime?: string
}

export const NATIVE_TYPES: Readonly<Record<PrismaProvider, NativeTypes>> = {
  postgresql: { text: (length) => ` @db.VarChar(${length})`, time: ' @db.Timestamp(3)' },
  cockroachdb: { text: (length) => ` @db.String(${length})`, time: ' @db.Timestamp(3)' },
  mysql: { text: (length) => ` @db.VarChar(${length})`, time: ' @db.DateTime(3)' },
  // SQLite takes types for hints. TypeORM's schema builder asks for datetime(3), of which Prisma wants to know nothing.
  sqlite: { text: () => '', time: '', columnOfTime: 'datetime not null' },
  sqlserver: { text: (length) => ` @db.NVarChar(${length})`, time: ' @db.DateTime2' },
}

/**
 * The lock table as a model for `schema.prisma`, so that Prisma's migrations know the table and leave it alone. The locks
 * themselves do not need it.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function prismaModel(provider: PrismaProvider, options: LockTableOptions = {}): string {
  checkOptions(options, TABLE_OPTIONS, 'model options')
  const dialect = dialectOfProvider(provider)
  const { schema, table, columns } = lockTable(dialect, options).names
  const { text, time } = NATIVE_TYPES[provider]
  return modelText(table, schema, [
    ['name', 'String', `@id${mapped('name', columns.name)}${text(64)}`],
    ['lockUntil', 'DateTime', `${mapped('lockUntil', columns.lockUntil)}${time}`],
    ['lockedAt', 'DateTime', `${mapped('lockedAt', columns.lockedAt)}${time}`],
    ['lockedBy', 'String', `${mapped('lockedBy', columns.lockedBy)}${text(255)}`],
  ])
}

/** Name, type and attributes. */
type Field = readonly [name: string, type: string, attributes: string]

/** A model in Prisma's schema language, aligned as Prisma's own formatter does. */
export function modelText(table: string, schema: string | undefined, fields: readonly Field[]): string {
  const width = Math.max(...fields.map(([, type]) => type.length))
  const lines = [
    '/// A lock of ShedLock; times are UTC.',
    'model ShedLock {',
    ...fields.map(([name, type, attributes]) =>
      `  ${name.padEnd(9)} ${type.padEnd(width)} ${attributes.trim()}`.trimEnd(),
    ),
    '',
    ...(table === 'ShedLock' ? [] : [`  @@map(${quoted(table)})`]),
    ...(schema === undefined ? [] : [`  @@schema(${quoted(schema)})`]),
    '}',
  ]
  return `${lines.join('\n')}\n`
}

/** @throws LockError `INVALID_CONFIGURATION` for a provider whose database has no dialect here */
export function dialectOfProvider(provider: PrismaProvider): Dialect {
  const name = CLIENT_DIALECTS[provider]
  if (name) return dialects[name]
  throw new LockError(
    'INVALID_CONFIGURATION',
    `There is no lock table for provider '${provider}' – known are ${Object.keys(NATIVE_TYPES).join(', ')}.`,
  )
}

export function mapped(field: string, column: string): string {
  return field === column ? '' : ` @map(${quoted(column)})`
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
