import { basename, join, resolve } from 'node:path'
import { prismaMigration, prismaModel, type PrismaProvider } from '../../prisma/internal'
import { prismaContract } from '../../prisma-8/internal'
import type { LockTableOptions } from '../../sql/internal'
import { wrongUsage } from '../command-error'
import { nameFlags } from '../output'
import {
  createsTable,
  hasDatasource,
  hasModel,
  migrationsIn,
  prismaProject,
  type PrismaSchema,
} from '../prisma-project'
import type { Project } from '../project'
import { missingDriver } from '../url-connection'
import { clientsOf, type Plan, type Step, type Task, type Write } from './plan'

/** A schema that gets the table. */
type ChosenSchema = PrismaSchema & { readonly migrates: boolean }

export async function prismaPlan(task: Task): Promise<Plan> {
  const { project, names, wanted } = task
  const { main, schemas: all, flag: flagOfMain, configured } = await prismaProject(project)
  const named = wanted.map((each) => resolve(project.root, each))
  // Also those below a folder.
  const isWanted = ({ path, migrations }: PrismaSchema): boolean =>
    named.some((each) => [path, migrations].some((one) => `${one}/`.startsWith(`${each}/`)))
  // The same models for other databases need the table too, and so do copies. A template has no provider.
  const isVariant = ({ models, provider }: PrismaSchema): boolean =>
    models === main?.models && models !== '' && provider !== ''
  const schemas = all.filter(wanted.length > 0 ? isWanted : (each) => each === main || isVariant(each))
  // Without a folder of migrations, an app with models pushes them, unless it names the folder. Schemas may share theirs.
  // Loose files are run by hand.
  const isPrismas = ({ migrations }: PrismaSchema): boolean =>
    migrationsIn(project, migrations).some(({ name, text }) => text !== '' || name === 'migration_lock.toml')
  // Without a URL, Prisma generates only the client: another service owns the tables.
  const isFresh = ({ models, variable, url }: PrismaSchema): boolean =>
    models === '' && (variable ?? url) !== undefined && project.scripts(/\bprisma db pull\b/).length === 0
  const migrates = (schema: PrismaSchema): boolean =>
    isPrismas(schema) || named.includes(schema.migrations) || isFresh(schema)
  const firstWith = ({ migrations }: PrismaSchema) => all.find((each) => each.migrations === migrations)
  const chosen = schemas.map((each) => ({ ...each, migrates: firstWith(each) === each && migrates(each) }))
  const [first] = chosen
  if (!first) throw wrongUsage(whyNone(project, all, wanted))
  // Schemas in one folder have the same migrations by default, so naming these does not say which schema is meant.
  if (schemas.some((each) => each.models !== firstWith(each)?.models && !named.includes(each.path)))
    throw wrongUsage(whyNone(project, schemas, []))
  const flagOf = ({ path }: PrismaSchema): string =>
    path === main?.path ? flagOfMain : ` --schema ${project.short(path)}`
  const members = project.members().flatMap((each) => (each.declares('prisma') ? each.root : []))
  const inside = members.filter((each) => each.startsWith(`${project.root}/`))
  const owners = [...new Set([...configured, ...inside])].filter((each) =>
    chosen.some(({ path }) => path.startsWith(`${each}/`)),
  )
  // They may configure where their migrations are.
  if (owners.length > 0 && flagOf(first) !== '')
    throw wrongUsage(
      `The Prisma schema is that of a package – run this command in ${owners.map((each) => project.short(each)).join(' and in ')}.`,
    )
  const parts = chosen.map((schema) => schemaPlan(project, schema, names))
  // One without migrations has those of another one for its database.
  const isCovered = ({ provider }: PrismaSchema): boolean =>
    chosen.some((each) => each.migrates && each.provider === provider)
  const migrated = chosen.filter((schema) => schema.migrates || !isCovered(schema))
  const url = urlOf(project, first)
  const hidesSettings = first.provider === 'mysql' && project.has('@prisma/adapter-mariadb')
  const clients = clientsOf(project, 'PrismaClient', 'prisma')
  // Each of several schemas may have its own.
  const [client = { name: 'prisma' }]: readonly Plan['client'][] =
    all.length === 1 && clients.length === 1 ? clients : []
  const missing = chosen.map(({ provider }) => missingDriver(project, provider))
  return {
    found: [
      `Prisma ${project.version('@prisma/client') || project.version('prisma')}`,
      ...chosen.map(({ path, provider }) => `${provider} in ${project.short(path)}`),
    ],
    writes: parts.flatMap(({ writes }) => writes),
    present: parts.flatMap(({ present }) => present),
    others: all.filter((schema) => !schemas.includes(schema)).map(({ path }) => project.short(path)),
    steps: [
      ...migrated.map((schema) => migrating(task, schema, flagOf(schema), migrated.length > 1)),
      ...(hidesSettings ? [[OWN_ADAPTER, ''] as const] : []),
    ],
    provider: ['prismaLockProvider', 'prisma'],
    client,
    missingDriver: missing.includes(undefined) ? undefined : missing[0],
    variable: first.variable ?? (first.url ? '' : undefined),
    url: first.path === main?.path ? undefined : url,
    otherUrls: chosen.map((each) => urlOf(project, each)).filter((each) => each !== '' && each !== url),
  }
}

/** For the command line, which looks for a file in the folder where it runs. */
function urlOf(project: Project, { path, variable, url = '' }: PrismaSchema): string {
  if (variable) return `"$${variable}"`
  const found = url.replace(/(?<=^file:)(?!\/).+/, (file) => project.short(resolve(path, '..', file)))
  return found && `'${found}'`
}

const OWN_ADAPTER =
  'Give the lock provider an adapter of its own, because that of MariaDB hides its settings (docs/prisma.md#mysql-and-mariadb).'

function whyNone(project: Project, all: readonly PrismaSchema[], wanted: readonly string[]): string {
  const named = all.map(({ path, migrations }) => {
    const folder = project.short(migrations)
    return `${project.short(path)}${project.exists(folder) ? ` (${folder})` : ''}`
  })
  const shown = named.join(', ')
  if (wanted.length > 0)
    return `No Prisma schema has its migrations in ${wanted.join(', ')} – there is ${shown}.`
  if (all.length > 0)
    return `There are several Prisma schemas with different models: ${shown} – name those that need the table with --migrations, which may be repeated.`
  const elsewhere = schemasOfWorkspace(project)
  return elsewhere.length === 0
    ? 'There is no Prisma schema in this folder – run `npx prisma init`, or this command where the schema is.'
    : `There is no Prisma schema here, but ${elsewhere.join(', ')} – run \`npx shedlock-orm init prisma\` where you run Prisma.`
}

function schemasOfWorkspace(project: Project): readonly string[] {
  const files = project.filesOfWorkspace('.prisma')
  return files.filter((file) => hasDatasource({ text: project.read(file) }))
}

function migrating({ project, names }: Task, schema: ChosenSchema, flag: string, isOneOfMany: boolean): Step {
  const { provider, migrations, migrates, files } = schema
  const path = project.short(schema.path)
  const where = isOneOfMany ? `, where you use ${path}` : ''
  // Prisma finds only a folder of this name beside a schema.
  if (flag.startsWith(' --schema') && basename(migrations) !== 'migrations')
    return [`Migrate as you run those in ${project.short(migrations)}, and generate the client.`, '']
  const text = files.map((file) => file.text).join('\n')
  const [, api] = /\bprovider\s*=\s*"([^"]*(?:graphql|trpc|crud|nestjs)[^"]*)"/.exec(text) ?? []
  const copies = schemasOfWorkspace(project).filter((file) => file.startsWith('../'))
  const note =
    (api === undefined ? '' : ` (${api} then knows ShedLock, too: keep it out of your API)`) +
    (copies[0]
      ? ` (if the database is also that of ${copies.join(' or ')}, copy what was written there, too)`
      : '')
  if (!migrates)
    return [
      `There are no migrations of ${path}: create this table as your others${where}, and generate the client${note}. Or let this command write a first migration, for a database without tables: name its folder with --migrations. ${/mysql|sqlserver/.test(provider) ? '`prisma db push` may make it ignore the case of names; this' : 'This'} prints the table as SQL:`,
      `npx shedlock-orm sql ${provider}${nameFlags(names)}`,
    ]
  const withSql = text.includes('typedSql') ? ' --sql' : ''
  return [
    `Migrate, and generate the client${where}${note}, as you do when you deploy, or with:`,
    `npx prisma migrate deploy${flag} && npx prisma generate${withSql}${flag}`,
  ]
}

/** What one schema needs. */
function schemaPlan(project: Project, schema: ChosenSchema, names: LockTableOptions) {
  const { path, isFolder, files, migrations, migrates } = schema
  const models = files.filter(({ text }) => hasModel(text, names)).map((file) => project.short(file.path))
  const existing = migrates ? migrationsIn(project, migrations) : []
  const creating = existing.filter(({ text }) => createsTable(text, names))
  if (models.length === 0) checkSchema(project, schema, names)
  const provider = schema.provider as PrismaProvider
  // Types of the database have the name of the datasource in front.
  const model = prismaModel(provider, names).replaceAll('@db.', `@${schema.datasource}.`)
  const file = project.short(isFolder ? join(path, 'shedlock.prisma') : path)
  return {
    present: [...models, ...creating.map(({ file }) => file)],
    writes: [
      ...(models.length > 0 ? [] : [isFolder ? { file, text: model } : appended(project, file, model)]),
      ...(migrates && !creating[0] ? migrationWrites(project, schema, prismaMigration(provider, names)) : []),
    ],
  }
}

/** Refuses a model with which Prisma would refuse the schema. */
function checkSchema(project: Project, found: PrismaSchema, names: LockTableOptions): void {
  const { path, files, schemas, provider } = found
  const { schema = '' } = names
  const short = project.short(path)
  if (provider === '') throw wrongUsage(`The datasource of ${short} names no database that is known.`)
  if (files.some(({ text }) => /^\s*(model|enum|type|view)\s+ShedLock\b/m.test(text)))
    throw wrongUsage(
      `${short} has a ShedLock of another table – create this table without a model: npx shedlock-orm sql ${provider}${nameFlags(names)}`,
    )
  if (schema === '' && schemas.length > 0)
    throw wrongUsage(
      `The datasource has the schemas ${schemas.join(', ')} – name that of the lock table with --schema.`,
    )
  if (schema !== '' && !schemas.includes(schema))
    throw wrongUsage(`The datasource of ${short} lacks the schema '${schema}' – add it to its \`schemas\`.`)
}

/** Prisma 8 plans its migrations itself. */
export function prisma8Plan({ project, names }: Task): Plan {
  const isContract = (file: string): boolean => basename(file) === 'contract.prisma'
  const [contract, ...others] = project.files('.prisma').filter(isContract)
  if (contract === undefined || others.length > 0)
    throw wrongUsage(
      `There ${contract === undefined ? 'is no' : 'are several'} contract.prisma in this folder – run the command where the one of Prisma 8 is.`,
    )
  const isThere = hasModel(project.read(contract), names)
  const commands = ['contract emit', 'migration plan --name shedlock', 'db migrate']
  return {
    found: [`Prisma ${project.version('@prisma/orm-postgres')}`],
    writes: isThere ? [] : [appended(project, contract, prismaContract(names))],
    present: isThere ? [contract] : [],
    steps: [['Plan and run the migration:', commands.map((each) => `npx prisma ${each}`).join('\n')]],
    provider: ['prismaLockProvider', 'prisma-8'],
    client: { name: 'db' },
  }
}

/** Leaves one empty line before the model, and the line ends as they are. */
function appended(project: Project, file: string, model: string): Write {
  const before = project.read(file)
  const text = `${before.endsWith('\n') ? '\n' : '\n\n'}${model}`
  return { file, text: before.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text, appends: true }
}

function migrationWrites(project: Project, { migrations, provider }: PrismaSchema, text: string): Write[] {
  const existing = migrationsIn(project, migrations)
  const begun = existing.find((each) => each.name.endsWith('_create_shedlock') && each.text === '')
  const [newest = '0'] =
    /^\d+(?=_)/.exec(existing.findLast(({ name }) => /^\d+_/.test(name))?.name ?? '') ?? []
  const today = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  // Prisma runs migrations in the order of their names, which may be numbered: 68_users.
  const next = String(BigInt(newest) + 1n)
  const date = `${newest}_` < `${today}_` ? today : next
  const file = begun?.file ?? project.short(join(migrations, `${date}_create_shedlock`, 'migration.sql'))
  const lock = project.short(join(migrations, 'migration_lock.toml'))
  const owner = { file: lock, text: `# Please do not edit this file manually\nprovider = "${provider}"\n` }
  return [{ file, text }, ...(project.exists(lock) ? [] : [owner])]
}
