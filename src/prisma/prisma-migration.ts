import { checkOptions } from '../core'
import { TABLE_OPTIONS, tableDefinition, type Dialect, type LockTableOptions } from '../sql'
import { dialectOfProvider, NATIVE_TYPES, type PrismaProvider } from './prisma-model'

/** Before any migration of yours, because Prisma runs them in the order of their names. */
const FOLDER = '20250101000000_create_shedlock'

/**
 * The lock table's migration as files for Prisma's `migrations` folder: path → text. Use it rather than the one that
 * `prisma migrate dev` would write: Prisma cannot say the collation under which `Job` and `job` are two locks.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function prismaMigration(
  provider: PrismaProvider,
  options: LockTableOptions = {},
): ReadonlyMap<string, string> {
  checkOptions(options, TABLE_OPTIONS, 'migration options')
  // Prisma runs migrations one at a time by itself.
  const { create, up } = tableDefinition(dialectForPrisma(provider), options)
  return new Map([
    ['migration_lock.toml', `provider = "${provider}"\n`],
    [`${FOLDER}/migration.sql`, [create, ...up.slice(1)].map((statement) => `${statement};\n`).join('\n')],
  ])
}

function dialectForPrisma(provider: PrismaProvider): Dialect {
  const dialect = dialectOfProvider(provider)
  const time = NATIVE_TYPES[provider].columnOfTime
  if (time === undefined) return dialect
  const columns = { ...dialect.ddl.columns, lockUntil: time, lockedAt: time }
  return { ...dialect, ddl: { ...dialect.ddl, columns } }
}
