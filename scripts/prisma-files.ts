import { prismaMigration, prismaModel, type PrismaProvider } from '../src/prisma/internal'

const PROVIDERS: readonly PrismaProvider[] = ['postgresql', 'cockroachdb', 'mysql', 'sqlite', 'sqlserver']

/** Before any migration of an app, because Prisma runs them in the order of their names. */
const FOLDER = '20250101000000_create_shedlock'

/** All that belongs under `prisma/`: path → text. */
export function prismaFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const provider of PROVIDERS) {
    const model = prismaModel(provider)
    // For a schema in several files: this one beside them.
    files.set(`${provider}/shedlock.prisma`, model)
    files.set(`${provider}/schema.prisma`, `datasource db {\n  provider = "${provider}"\n}\n\n${model}`)
    files.set(`${provider}/migrations/migration_lock.toml`, `provider = "${provider}"\n`)
    files.set(`${provider}/migrations/${FOLDER}/migration.sql`, prismaMigration(provider))
  }
  return files
}
