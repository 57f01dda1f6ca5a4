import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { LockTableOptions } from '../sql/internal'
import { wrongUsage } from './command-error'
import { oneLine } from './output'
import { attempt, type Project } from './project'

/** What is used of the config as Prisma resolves it. */
interface PrismaConfig {
  readonly schema?: string
  readonly migrations?: { readonly path?: string }
  readonly datasource?: { readonly url?: string }
}

interface Loaded {
  readonly file?: string
  readonly config: PrismaConfig
  readonly variable?: string
}

interface ConfigPackage {
  readonly loadConfigFromFile: (input: { configRoot: string; configFile?: string }) => Promise<{
    config?: PrismaConfig
    resolvedPath?: string | null
    error?: { readonly error?: unknown; readonly _tag?: string }
  }>
}

/** The schemas of a project. */
export type PrismaProject = Awaited<ReturnType<typeof prismaProject>>

/** Finds the schemas of a project: the one that its config or package.json names, or where Prisma looks without them, and all others. */
export async function prismaProject(project: Project) {
  const { root, manifest } = project
  const hasConfig = ['', '.config'].some(
    (at) => project.exists(at) && readdirSync(join(root, at)).some((name) => CONFIG.test(join(at, name))),
  )
  // Prisma needs its path, but a package of the workspace may find its own.
  const [passed] = project.scripts(/\bprisma\s(?:[^&|;]*\s)?--config[ =](\S+)/)
  const deeper = project.sources().filter((path) => /\/prisma\.config\.[cm]?[jt]s$/.test(path))
  // Some projects call the file of their client so.
  const configs = deeper.filter((path) => !project.read(path).includes('new PrismaClient('))
  const elsewhere = hasConfig ? '' : (passed?.found ?? (configs.length === 1 ? (configs[0] ?? '') : ''))
  const { file, config, variable }: Loaded =
    hasConfig || elsewhere ? await loadConfig(project, elsewhere) : { config: {} }
  const named = config.schema ?? manifest.prisma?.schema
  if (named !== undefined && !existsSync(resolve(root, named)))
    throw wrongUsage(`The schema that this project names, ${named}, does not exist – generate or correct it.`)
  const isSchema = (path: string): boolean => readFiles(path).some(hasDatasource)
  const usual = named ?? USUAL.find((path) => isSchema(join(root, path)))
  const files = project.files('.prisma').map((path) => join(root, path))
  const paths = usual === undefined ? [] : [resolve(root, usual)]
  // One of them may be a link to the other.
  const mains = paths.map((path) => realpathSync(path))
  const isPart = (path: string): boolean =>
    mains.some((main) => `${realpathSync(path)}/`.startsWith(`${main}/`))
  const more = files.filter((path) => !isPart(path) && isSchema(path))
  // With other files beside it, the folder is the schema.
  const folders = new Set(files.filter((path) => !isSchema(path)).map(dirname))
  paths.push(...more.map((path) => (folders.has(dirname(path)) ? dirname(path) : path)))
  const schemas = [...new Set(paths)].map(readSchema)
  const [first] = schemas
  // Several schemas with different models: which of them Prisma uses is unknown.
  const isKnown = usual !== undefined || schemas.every(({ models }) => models === first?.models)
  const main = isKnown ? first : undefined
  if (main) {
    main.migrations = resolve(root, config.migrations?.path ?? main.migrations)
    main.variable = variable ?? main.variable
    main.url = config.datasource?.url ?? main.url ?? (config.datasource && '')
  }
  return {
    /** The file in which Prisma is configured, relative to the project's folder. */
    config: file,
    /** The folders of several configs, if it is unknown which of them Prisma uses. */
    configured: elsewhere || hasConfig ? [] : configs.map((path) => join(root, dirname(path))),
    /** The schema that Prisma uses; missing if that is unknown. */
    main,
    /** The option that names it for Prisma; empty where Prisma finds it itself. Only some versions find a folder. */
    flag: elsewhere
      ? ` --config ${elsewhere}`
      : named !== undefined || usual?.endsWith('.prisma') === true
        ? ''
        : ` --schema ${project.short(main?.path ?? '')}`,
    /** All of them, that one first. MongoDB cannot keep locks. */
    schemas: schemas.filter((each) => each === main || each.provider !== 'mongodb'),
  }
}

const CONFIG = /^(\.config\/prisma|(\.config\/)?prisma\d*\.config)\.[cm]?[jt]s$/
/** Where Prisma looks without a setting. */
const USUAL = ['prisma/schema.prisma', 'schema.prisma', 'prisma/schema']

export function hasDatasource({ text }: { readonly text: string }): boolean {
  return /^\s*datasource\s/m.test(text)
}

/** Reads a schema: a file, or a folder of files. Leaves out what may not be read. */
function readFiles(schema: string): { path: string; text: string }[] {
  return attempt(() => {
    const paths = statSync(schema).isDirectory()
      ? readdirSync(schema, { recursive: true, encoding: 'utf8' })
          .filter((file) => file.endsWith('.prisma'))
          .map((file) => join(schema, file))
          .sort()
      : [schema]
    return paths.map((path) => ({ path, text: withoutComments(readFileSync(path, 'utf8')) }))
  }, [])
}

/** A schema of Prisma. */
export type PrismaSchema = ReturnType<typeof readSchema>

/** @param path of the schema's file, or of the folder of its files. Paths are absolute */
function readSchema(path: string) {
  const files = readFiles(path)
  const isFolder = statSync(path).isDirectory()
  const source = files.find(hasDatasource)
  const [, datasource = 'db', block = ''] =
    /^\s*datasource\s+(\w+)\s*\{([^}]*)\}/m.exec(source?.text ?? '') ?? []
  const schemas = /\bschemas\s*=\s*\[([^\]]*)\]/.exec(block)?.[1] ?? ''
  return {
    ...{ path, isFolder, datasource },
    /** Each file with its text, without comments. */
    files,
    /** The names of the app's models. */
    models: files
      .flatMap(({ text }) => [...text.matchAll(/^\s*model\s+(?!ShedLock\b)(\w+)/gm)])
      .map(([, name]) => name)
      .sort()
      .join(),
    migrations: migrationsBeside(source?.path ?? path, path, isFolder),
    provider: (/\bprovider\s*=\s*"(\w+)"/.exec(block)?.[1] ?? '').replace(/^postgres$/, 'postgresql'),
    /** The schemas of the datasource. Every model then has to name its own. */
    schemas: [...schemas.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
    /** The variable that contains the database's URL. */
    variable: /\burl\s*=\s*env\(\s*"(\w+)"\s*\)/.exec(block)?.[1],
    /** The URL, if it is known without the variable; empty if only the config's environment has it. */
    url: /\burl\s*=\s*"([^"]+)"/.exec(block)?.[1],
  }
}

/** A URL in a string may contain `//` and `/*`. */
function withoutComments(text: string): string {
  return text.replace(
    /("(?:[^"\\\n]|\\.)*")|\/\/.*|\/\*[^]*?\*\//g,
    (_, string: string | undefined) => string ?? '',
  )
}

/** Loads the config as the project's own Prisma does. Also returns the variable that is missing for the URL. */
async function loadConfig(project: Project, path: string): Promise<Loaded> {
  const loader = project.find(['@prisma/config'], ['prisma/package.json'])
  // Before version 6.4, Prisma has no config.
  if (!loader && project.installed('prisma')) return { config: {} }
  if (!loader)
    throw wrongUsage(
      "The config of Prisma can be read only with the project's own Prisma – install the project's packages first, such as prisma.",
    )
  const { loadConfigFromFile } = loader.load() as ConfigPackage
  const input = { configRoot: project.root, ...(path && { configFile: path }) }
  const { config = {}, resolvedPath, error } = await loadConfigFromFile(input)
  const file = project.short(resolvedPath ?? project.root)
  if (!error) return { file, config }
  const why = oneLine(error.error ?? error._tag)
  const [, variable = ''] = /environment variable:? [`'"]?(\w+)/i.exec(why) ?? []
  if (variable === '' || variable in process.env)
    throw wrongUsage(`The config of Prisma cannot be loaded: ${why}`)
  // `env()` of prisma/config throws, though only the URL depends on it.
  process.env[variable] = 'unset'
  try {
    const loaded = await loadConfig(project, path)
    return { ...loaded, config: { ...loaded.config, datasource: {} }, variable }
  } finally {
    Reflect.deleteProperty(process.env, variable)
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

/** Whether a schema has the model, not only in a comment. */
export function hasModel(schema: string, { tableName = 'shedlock' }: LockTableOptions): boolean {
  const text = withoutComments(schema)
  const models = [...text.matchAll(/^\s*model\s+(\w+)/gm)].map(([, name]) => name)
  return text.includes(`@@map(${JSON.stringify(tableName)})`) || models.includes(tableName)
}

/** The migrations in a folder in their order, and what else is there. The text of one that was not written to its end is empty. */
export function migrationsIn(project: Project, folder: string) {
  const names = existsSync(folder) ? readdirSync(folder) : []
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
