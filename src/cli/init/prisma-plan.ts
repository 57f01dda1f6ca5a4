import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { prismaMigration, prismaModel, type PrismaProvider } from '../../prisma/internal'
import { prismaContract } from '../../prisma-8/internal'
import type { LockTableOptions } from '../../sql/internal'
import { wrongUsage } from '../command-error'
import { prismaProjects, whyNoProject, type PrismaProject } from '../prisma-project'
import type { Project } from '../project'
import { missingDriver } from '../url-connection'
import { LIMITS, WHY_LIMITS, type Plan, type Step, type Write } from './plan'

const PROVIDERS: readonly string[] = [
  'postgresql',
  'cockroachdb',
  'mysql',
  'sqlite',
  'sqlserver',
] satisfies PrismaProvider[]

/** @param wanted the folder of the migrations; default: where Prisma has them */
export async function prismaPlan(
  project: Project,
  names: LockTableOptions,
  wanted: string | undefined,
): Promise<Plan> {
  const all = await prismaProjects(project)
  const folder = wanted === undefined ? undefined : join(project.root, wanted)
  const named = all.filter(({ migrations }) => migrations === folder)
  const [main] = named.length > 0 ? named : all
  if (!main) throw wrongUsage(await whyNoProject(project))
  const parts = (folder === undefined ? all : [main]).map((prisma) =>
    schemaPlan(project, prisma, names, folder),
  )
  return {
    found: [
      `Prisma ${project.version('@prisma/client') || project.version('prisma')}`.trim(),
      ...parts.map(({ found }) => found),
    ],
    writes: parts.flatMap(({ writes }) => writes),
    present: parts.flatMap(({ present }) => present),
    steps: [...parts.slice(0, 1).map(({ step }) => step), ...limits(project)],
    provider: { entry: 'prisma', name: 'prismaLockProvider', client: 'prisma' },
    close: 'prisma.$disconnect()',
    missingDriver: missingDriver(project, main.provider ?? ''),
    ...(main.variable !== undefined && { variables: [main.variable] }),
  }
}

/** What the options of an adapter need, unless they have it. */
function limits(project: Project): Step[] {
  const [, options] =
    Object.entries({
      '@prisma/adapter-pg':
        '`connectionTimeoutMillis: 4_000, query_timeout: 4_000` in the options of PrismaPg',
      '@prisma/adapter-mariadb':
        '`connectTimeout: 4_000, socketTimeout: 4_000` in the options of PrismaMariaDb',
    }).find(([adapter]) => project.has(adapter)) ?? []
  if (options === undefined || project.sources().some((file) => LIMITS.test(project.read(file)))) return []
  return [{ what: `${WHY_LIMITS}: ${options}; the second one is for all queries.` }]
}

/** What one schema needs. @param wanted the folder of the migrations */
function schemaPlan(
  project: Project,
  prisma: PrismaProject,
  names: LockTableOptions,
  wanted: string | undefined,
): {
  readonly found: string
  readonly writes: readonly Write[]
  readonly present: readonly string[]
  readonly step: Step
} {
  const { provider = '', schemas } = prisma
  if (!isProvider(provider))
    throw wrongUsage(
      `The provider '${provider}' of ${short(project, prisma.schema)} cannot keep locks – known are ${PROVIDERS.join(', ')}.`,
    )
  if (schemas.length > 0 && names.schema === undefined)
    throw wrongUsage(
      `The datasource has the schemas ${schemas.join(', ')} – name that of the lock table with --schema.`,
    )
  const texts = prisma.files.map((file) => ({ file, text: readFileSync(file, 'utf8') }))
  const model = texts.find(({ text }) => hasModel(text, names))?.file
  const folder = wanted ?? prisma.migrations
  checkLock(project, folder, prisma.schema, provider)
  const migration = migrationWith(folder, names)
  const hasOtherModels = texts.some(({ text }) => /^\s*model\s+(?!ShedLock\b)\w+/m.test(text))
  const at = prisma.isUsual ? '' : ` --schema ${short(project, prisma.schema)}`
  const migrates = existsSync(folder) || wanted !== undefined || !hasOtherModels
  return {
    found: `${provider} in ${short(project, prisma.schema)}`,
    writes: [
      ...(model === undefined ? [modelWrite(project, prisma, prismaModel(provider, names))] : []),
      ...(migration === undefined && migrates ? migrationWrites(project, folder, provider, names) : []),
    ],
    present: [model, migration].flatMap((file) => (file === undefined ? [] : [short(project, file)])),
    step: migrates
      ? {
          what: 'Migrate, and generate the client:',
          code: `npx prisma migrate deploy${at} && npx prisma generate${at}\n`,
          language: 'sh',
        }
      : {
          what: `There is no ${short(project, folder)}, so if you push your other models, push this one too, which leaves the names of locks to the database's collation${provider === 'mysql' ? ' (MySQL ignores case; `npx shedlock-orm sql mysql` prints a table that does not)' : ''}:`,
          code: `npx prisma db push${at} && npx prisma generate${at}\n`,
          language: 'sh',
        },
  }
}

/** Prisma refuses a folder whose lock names another provider (P3019). */
function checkLock(project: Project, folder: string, schema: string, provider: string): void {
  const lock = join(folder, 'migration_lock.toml')
  const [, other = provider] = existsSync(lock)
    ? (/^provider\s*=\s*"(\w+)"/m.exec(readFileSync(lock, 'utf8')) ?? [])
    : []
  if (other !== provider)
    throw wrongUsage(
      `${short(project, lock)} is for ${other}, but ${short(project, schema)} is for ${provider} – name a folder of ${provider}'s migrations with --migrations.`,
    )
}

/** Prisma 8 plans its migrations itself. */
export function prisma8Plan(project: Project, names: LockTableOptions): Plan {
  const [contract, ...others] = project
    .files('.prisma')
    .filter((file) => /(^|\/)contract\.prisma$/.test(file))
  if (contract === undefined || others.length > 0)
    throw wrongUsage(
      `There ${contract === undefined ? 'is no' : 'are several'} contract.prisma in this folder – run the command where the one of Prisma 8 is.`,
    )
  const text = project.read(contract)
  const isThere = hasModel(text, names)
  return {
    found: [`Prisma ${project.version('@prisma/orm-postgres')}`.trim()],
    writes: isThere ? [] : [appended(contract, text, prismaContract(names))],
    present: isThere ? [contract] : [],
    steps: [
      {
        what: 'Plan and run the migration:',
        code: 'npx prisma contract emit\nnpx prisma migration plan --name shedlock\nnpx prisma db migrate\n',
        language: 'sh',
      },
    ],
    provider: { entry: 'prisma-8', name: 'prismaLockProvider', client: 'db' },
  }
}

function isProvider(name: string): name is PrismaProvider {
  return PROVIDERS.includes(name)
}

function hasModel(text: string, { tableName = 'shedlock' }: LockTableOptions): boolean {
  return text.includes(`@@map("${tableName}")`) || new RegExp(`^\\s*model\\s+${tableName}\\b`, 'm').test(text)
}

function modelWrite(project: Project, { schema, isFolder }: PrismaProject, model: string): Write {
  if (isFolder) return { file: short(project, join(schema, 'shedlock.prisma')), text: model }
  return appended(short(project, schema), readFileSync(schema, 'utf8'), model)
}

/** Leaves one empty line before the model, and the line ends as they are. */
function appended(file: string, before: string, model: string): Write {
  const gap = before.endsWith('\n') ? '\n' : '\n\n'
  const text = `${gap}${model}`
  return { file, text: before.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text, appends: true }
}

/** The migration that creates the table. */
function migrationWith(folder: string, { tableName = 'shedlock' }: LockTableOptions): string | undefined {
  if (!existsSync(folder)) return undefined
  const files = readdirSync(folder).map((name) => join(folder, name, 'migration.sql'))
  return files.find((file) => {
    if (!existsSync(file)) return false
    const [, rest = ''] = /create table(.*)/is.exec(readFileSync(file, 'utf8')) ?? []
    return new RegExp(`["\`[.\\s]${tableName.replace(/\W/g, '\\$&')}["\`\\]\\s(]`, 'i').test(rest)
  })
}

function migrationWrites(
  project: Project,
  folder: string,
  provider: PrismaProvider,
  names: LockTableOptions,
): Write[] {
  const present = existsSync(folder) ? readdirSync(folder).sort() : []
  const last = present.filter((name) => /^\d{12,14}_/.test(name)).at(-1) ?? ''
  const now = new Date()
  const today = stamp(now)
  // Prisma runs migrations in the order of their names.
  const [, digits = ''] = /^(\d{14})_/.exec(last) ?? []
  const date = digits < today ? today : String(BigInt(digits) + 1n)
  const lock = join(folder, 'migration_lock.toml')
  return [
    {
      file: short(project, join(folder, `${date}_create_shedlock`, 'migration.sql')),
      text: prismaMigration(provider, names),
    },
    ...(existsSync(lock)
      ? []
      : [
          {
            file: short(project, lock),
            text: `# Please do not edit this file manually\nprovider = "${provider}"\n`,
          },
        ]),
  ]
}

/** `20261127120000`, as Prisma dates its migrations. */
function stamp(date: Date): string {
  return date.toISOString().replace(/\D/g, '').slice(0, 14)
}

function short(project: Project, path: string): string {
  return relative(project.root, path).replaceAll('\\', '/') || dirname(path)
}
