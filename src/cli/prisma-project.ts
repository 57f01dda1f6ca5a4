import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { LockTableOptions } from '../sql/internal'
import { wrongUsage } from './command-error'
import { oneLine } from './output'
import type { Project } from './project'

/** A schema of Prisma. Paths are absolute. */
export interface PrismaSchema {
  /** The file of the schema, or the folder of its files. */
  readonly path: string
  readonly isFolder: boolean
  /** Each file with its text, without comments. */
  readonly files: readonly { readonly path: string; readonly text: string }[]
  /** The names of the app's models. */
  readonly models: string
  readonly migrations: string
  readonly provider: string
  /** The schemas of the datasource. Every model then has to name its own. */
  readonly schemas: readonly string[]
  /** The variable that contains the database's URL. */
  readonly variable: string | undefined
  /** The URL, if it is known without the variable. */
  readonly url: string | undefined
}

/** The schemas of a project. */
export interface PrismaProject {
  /** The file in which Prisma is configured, relative to the project's folder. */
  readonly config: string | undefined
  /** The schema that Prisma uses; missing if that is unknown. */
  readonly main: PrismaSchema | undefined
  /** Whether Prisma finds it by itself. */
  readonly isUsual: boolean
  readonly others: readonly PrismaSchema[]
}

/** What is used of the config as Prisma resolves it. Before 6.6, `schema` was an object. */
interface PrismaConfig {
  readonly schema?: string | { readonly filePath?: string; readonly folderPath?: string }
  readonly migrations?: { readonly path?: string }
  readonly datasource?: { readonly url?: string }
}

interface Loaded {
  readonly file?: string
  readonly config: PrismaConfig
  readonly variable?: string
}

interface ConfigPackage {
  readonly loadConfigFromFile: (input: { configRoot: string }) => Promise<{
    config?: PrismaConfig
    resolvedPath?: string | null
    error?: { readonly error?: unknown; readonly _tag?: string }
  }>
}

/** Finds the schemas of a project: the one that its config or package.json names, or where Prisma looks without them, and all others. */
export async function prismaProject(project: Project): Promise<PrismaProject> {
  const { root, manifest } = project
  const hasConfig = ['', '.config'].some(
    (at) => project.exists(at) && readdirSync(join(root, at)).some((name) => CONFIG.test(join(at, name))),
  )
  const { file, config, variable }: Loaded = hasConfig ? await loadConfig(project) : { config: {} }
  const { schema: given, migrations, datasource } = config
  const named =
    (typeof given === 'string' ? given : (given?.folderPath ?? given?.filePath)) ?? manifest.prisma?.schema
  if (typeof named === 'string' && !existsSync(resolve(root, named)))
    throw wrongUsage(`The schema that this project names, ${named}, does not exist – correct it.`)
  const usual =
    typeof named === 'string' ? named : USUAL.find((path) => readFiles(join(root, path)).some(hasDatasource))
  const all = project.files('.prisma').map((path) => join(root, path))
  const paths = usual === undefined ? [] : [resolve(root, usual)]
  // One of them may be a link to the other.
  const mains = paths.map((path) => realpathSync(path))
  const isPart = (path: string): boolean =>
    mains.some((main) => `${realpathSync(path)}/`.startsWith(`${main}/`))
  const more = all.filter((path) => !isPart(path) && readFiles(path).some(hasDatasource))
  // With other files beside it, the folder is the schema.
  const hasParts = (path: string): boolean =>
    all.some((other) => dirname(other) === dirname(path) && !readFiles(other).some(hasDatasource))
  paths.push(...more.map((path) => (hasParts(path) ? dirname(path) : path)))
  const [main, ...others] = [...new Set(paths)].map(readSchema)
  const isUsual = usual !== undefined
  // Several schemas with different models: which of them Prisma uses is unknown.
  if (!main || (!isUsual && others.some(({ models }) => models !== main.models)))
    return { config: file, main: undefined, isUsual, others: main ? [main, ...others] : [] }
  const used = {
    ...main,
    ...(migrations?.path !== undefined && { migrations: resolve(root, migrations.path) }),
    variable: variable ?? main.variable,
    url: datasource?.url ?? main.url,
  }
  return { config: file, main: used, isUsual, others }
}

const CONFIG = /^(\.config\/prisma|(\.config\/)?prisma\d*\.config)\.[cm]?[jt]s$/
/** Where Prisma looks without a setting. */
const USUAL = ['prisma/schema.prisma', 'schema.prisma', 'prisma/schema']

function hasDatasource({ text }: { readonly text: string }): boolean {
  return /^\s*datasource\s/m.test(text)
}

/** Reads a schema: a file, or a folder of files. Leaves out what may not be read. */
function readFiles(schema: string): { path: string; text: string }[] {
  try {
    const paths = statSync(schema).isDirectory()
      ? readdirSync(schema, { recursive: true, encoding: 'utf8' })
          .filter((file) => file.endsWith('.prisma'))
          .map((file) => join(schema, file))
          .sort()
      : [schema]
    return paths.map((path) => ({ path, text: withoutComments(readFileSync(path, 'utf8')) }))
  } catch {
    return []
  }
}

function readSchema(path: string): PrismaSchema {
  const files = readFiles(path)
  const isFolder = statSync(path).isDirectory()
  const source = files.find(hasDatasource)
  const [, block = ''] = /^\s*datasource\s+\w+\s*\{([^}]*)\}/m.exec(source?.text ?? '') ?? []
  const schemas = /\bschemas\s*=\s*\[([^\]]*)\]/.exec(block)?.[1] ?? ''
  return {
    ...{ path, isFolder, files },
    models: files
      .flatMap(({ text }) => [...text.matchAll(/^\s*model\s+(\w+)/gm)].map(([, name]) => name))
      .filter((name) => name !== 'ShedLock')
      .sort()
      .join(),
    migrations: migrationsBeside(source?.path ?? path, path, isFolder),
    provider: (/\bprovider\s*=\s*"(\w+)"/.exec(block)?.[1] ?? '').replace(/^postgres$/, 'postgresql'),
    schemas: [...schemas.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
    variable: /\burl\s*=\s*env\(\s*"(\w+)"\s*\)/.exec(block)?.[1],
    url: /\burl\s*=\s*"([^"]+)"/.exec(block)?.[1],
  }
}

/** A URL in a string may contain `//` and `/*`. */
export function withoutComments(text: string): string {
  return text.replace(
    /("(?:[^"\\\n]|\\.)*")|\/\/.*|\/\*[^]*?\*\//g,
    (_, string: string | undefined) => string ?? '',
  )
}

/** Loads the config as the project's own Prisma does. Also returns the variable that is missing for the URL. */
async function loadConfig(project: Project): Promise<Loaded> {
  const loader = project.find(['@prisma/config'], ['prisma/package.json'])
  if (!loader)
    throw wrongUsage(
      "The config of Prisma can be read only with the project's own Prisma – install the project's packages first, such as prisma.",
    )
  const { loadConfigFromFile } = loader.load() as ConfigPackage
  const placeholders: string[] = []
  try {
    for (;;) {
      const { config = {}, resolvedPath, error } = await loadConfigFromFile({ configRoot: project.root })
      const file = project.short(resolvedPath ?? project.root)
      const [variable] = placeholders
      if (!error)
        return variable === undefined
          ? { file, config }
          : { file, config: { ...config, datasource: {} }, variable }
      const why = oneLine(error.error ?? error._tag)
      const [, missing] = /environment variable:? [`'"]?(\w+)/i.exec(why) ?? []
      // `env()` of prisma/config throws, though only the URL depends on it.
      if (missing === undefined || placeholders.includes(missing))
        throw wrongUsage(`The config of Prisma cannot be loaded: ${why}`)
      placeholders.push(missing)
      process.env[missing] = 'unset'
    }
  } finally {
    for (const placeholder of placeholders) Reflect.deleteProperty(process.env, placeholder)
  }
}

/** Beside the file with the datasource, or beside the folder of the schema, as older versions had it. */
function migrationsBeside(file: string, schema: string, isFolder: boolean): string {
  const beside = join(dirname(file), 'migrations')
  const above = join(dirname(schema), 'migrations')
  if (isFolder) return !existsSync(beside) && existsSync(above) ? above : beside
  // mysql-schema.prisma is often beside mysql-migrations.
  const named = join(dirname(file), basename(file).replace(/schema\.prisma$/, 'migrations'))
  return named !== file && existsSync(named) ? named : beside
}

/** @param text without comments */
export function hasModel(text: string, { tableName = 'shedlock' }: LockTableOptions): boolean {
  const models = [...text.matchAll(/^\s*model\s+(\w+)/gm)].map(([, name]) => name)
  return text.includes(`@@map(${JSON.stringify(tableName)})`) || models.includes(tableName)
}

interface Migration {
  readonly name: string
  readonly file: string
  /** Empty if it was not written to its end. */
  readonly text: string
}

/** Oldest first. */
export function migrationsIn(project: Project, folder: string): readonly Migration[] {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => /^\d{12,14}_/.test(name)) : []
  return names.sort().map((name) => {
    const file = project.short(join(folder, name, 'migration.sql'))
    return { name, file, text: project.read(file) }
  })
}

/** Whether SQL creates the table, not only in a comment. */
export function createsTable(text: string, { tableName = 'shedlock' }: LockTableOptions): boolean {
  const statements = text.replace(/--.*|\/\*[^]*?\*\//g, '').matchAll(/create\s+table([^(]*)/gi)
  return [...statements].some(([, name = '']) => {
    const [last = ''] = /("[^"]+"|[^\s.]+)\s*$/.exec(name) ?? []
    return last.replace(/["`[\]]/g, '').trim() === tableName
  })
}
