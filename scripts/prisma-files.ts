import { prismaMigration, prismaModel, type PrismaProvider } from '../src/prisma/prisma-model'

const PROVIDERS: readonly PrismaProvider[] = ['postgresql', 'cockroachdb', 'mysql', 'sqlite', 'sqlserver']

/** Sorts before any migration of an app, because Prisma runs migrations in the order of their names. */
const FOLDER = '20250101000000_create_shedlock'

/** Returns the contents of the folder `prisma`, by path. */
export function prismaFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const provider of PROVIDERS) {
    const model = prismaModel(provider)
    // For apps whose schema is split into several files.
    files.set(`${provider}/shedlock.prisma`, model)
    files.set(`${provider}/schema.prisma`, `datasource db {\n  provider = "${provider}"\n}\n\n${model}`)
    files.set(`${provider}/migrations/migration_lock.toml`, `provider = "${provider}"\n`)
    files.set(`${provider}/migrations/${FOLDER}/migration.sql`, prismaMigration(provider))
  }
  return files
}
