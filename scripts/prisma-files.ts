import { prismaMigration, prismaModel, type PrismaProvider } from '../src/prisma'

const PROVIDERS: readonly PrismaProvider[] = ['postgresql', 'cockroachdb', 'mysql', 'sqlite', 'sqlserver']

/** All that belongs under `prisma/`: path → text. */
export function prismaFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const provider of PROVIDERS) {
    const model = prismaModel(provider)
    // For a schema in several files: this one beside them.
    files.set(`${provider}/shedlock.prisma`, model)
    files.set(`${provider}/schema.prisma`, `datasource db {\n  provider = "${provider}"\n}\n\n${model}`)
    for (const [path, text] of prismaMigration(provider)) files.set(`${provider}/migrations/${path}`, text)
  }
  return files
}
