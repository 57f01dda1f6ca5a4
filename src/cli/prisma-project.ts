import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { wrongUsage } from './command-error'
import { oneLine } from './output'
import type { Project } from './project'

/** What a project's schema.prisma and prisma.config.ts say. Paths are absolute. */
export interface PrismaProject {
  /** The file of the schema, or the folder of its files. */
  readonly schema: string
  readonly isFolder: boolean
  /** Whether Prisma finds it by itself. */
  readonly isUsual: boolean
  readonly files: readonly string[]
  /** The names of the app's models. */
  readonly models: string
  readonly migrations: string
  readonly provider: string | undefined
  /** The schemas of the datasource. Every model then has to name its own. */
  readonly schemas: readonly string[]
  /** The variable that contains the database's URL. */
  readonly variable: string | undefined
  /** The URL, if it is known without the variable. */
  readonly url: string | undefined
}

/** What is used of the config as Prisma resolves it. Before 6.6, `schema` was an object. */
interface PrismaConfig {
  readonly schema?: string | { readonly filePath?: string; readonly folderPath?: string }
  readonly migrations?: { readonly path?: string }
  readonly datasource?: { readonly url?: string }
}

interface ConfigPackage {
  readonly loadConfigFromFile: (input: { configRoot: string; configFile: string }) => Promise<{
    config?: PrismaConfig
    error?: { readonly error?: unknown; readonly _tag?: string }
  }>
}

const CONFIG = /^(prisma\d*\.config|prisma)\.[cm]?[jt]s$/
/** The URL's variable in a config: `url: env('NAME')`, `url: process.env.NAME`. */
const URL_OF_CONFIG =
  /\burl:\s*(?:env(?:<\w+>)?\(\s*['"](\w+)['"]|process\.env(?:\.(\w+)|\[\s*['"](\w+)['"]))/

/** Reads the settings of Prisma in a project: first those that Prisma uses, then those of the same models for other databases. */
export async function prismaProjects(project: Project): Promise<readonly PrismaProject[]> {
  const { root } = project
  const { file, config, named } = await readConfig(project)
  const { migrations } = config
  const schema = named === undefined ? usualSchema(project) : resolve(root, named)
  if (schema !== undefined && !existsSync(schema)) return []
  const all = schemasOf(project).map((path) => join(root, path))
  const [main, ...others] = [...new Set(schema === undefined ? all : [schema, ...all])].map((path) =>
    readSchema(path),
  )
  if (!main) return []
  const variants = others.filter(
    (other, index) =>
      main.models !== '' &&
      other.models === main.models &&
      ![main, ...others.slice(0, index)].some(({ provider }) => provider === other.provider),
  )
  // Several schemas with different models: which of them Prisma uses is unknown.
  if (schema === undefined && variants.length < others.length) return []
  const [, ...variables] = file === undefined ? [] : (URL_OF_CONFIG.exec(readFileSync(file, 'utf8')) ?? [])
  return [
    {
      ...main,
      isUsual: schema !== undefined,
      ...(migrations?.path !== undefined && { migrations: resolve(root, migrations.path) }),
      variable: variables.find(Boolean) ?? main.variable,
      url: config.datasource?.url ?? main.url,
    },
    ...variants,
  ]
}

/** Why `prismaProjects` found none. */
export async function whyNoProject(project: Project): Promise<string> {
  const { named = project.manifest.prisma?.schema } = await readConfig(project)
  if (typeof named === 'string')
    return `The schema that this project names, ${named}, does not exist – correct it.`
  const all = schemasOf(project)
  return all.length === 0
    ? 'There is no Prisma schema in this folder – run `npx prisma init`, or this command where the schema is.'
    : `There are several Prisma schemas with different models: ${all.join(', ')} – name one as schema in prisma.config.ts, or as prisma.schema in package.json before Prisma 7.`
}

/** Reads the config of Prisma, and which schema it names. */
async function readConfig(project: Project) {
  const file = configFile(project.root)
  const config = file === undefined ? {} : await loadConfig(project, file)
  const { schema } = config
  return {
    file,
    config,
    named: typeof schema === 'string' ? schema : (schema?.folderPath ?? schema?.filePath),
  }
}

function schemasOf(project: Project): readonly string[] {
  return project.files('.prisma').filter((path) => /^\s*datasource\s/m.test(project.read(path)))
}

/** Reads a schema: a file, or a folder of files. */
function readSchema(schema: string): PrismaProject {
  const isFolder = statSync(schema).isDirectory()
  const files = isFolder ? prismaFilesIn(schema) : [schema]
  const texts = files.map((path) => ({ path, text: withoutComments(readFileSync(path, 'utf8')) }))
  const source = texts.map(({ path, text }) => ({
    path,
    block: /\bdatasource\s+\w+\s*\{([^}]*)\}/.exec(text)?.[1],
  }))
  const { path = schema, block = '' } = source.find((each) => each.block !== undefined) ?? {}
  return {
    ...{ schema, isFolder, files, isUsual: false },
    models: texts
      .flatMap(({ text }) => [...text.matchAll(/^\s*model\s+(\w+)/gm)].map(([, name]) => name))
      .filter((name) => name !== 'ShedLock')
      .sort()
      .join(),
    migrations: migrationsBeside(path, schema, isFolder),
    provider: /\bprovider\s*=\s*"(\w+)"/.exec(block)?.[1],
    schemas: [...(/\bschemas\s*=\s*\[([^\]]*)\]/.exec(block)?.[1] ?? '').matchAll(/"([^"]+)"/g)].map(
      ([, name = '']) => name,
    ),
    variable: /\burl\s*=\s*env\(\s*"(\w+)"\s*\)/.exec(block)?.[1],
    url: /\burl\s*=\s*"([^"]+)"/.exec(block)?.[1],
  }
}

/** The path of the config, relative to the project's folder. */
function configFile(root: string): string | undefined {
  const [newest] = readdirSync(root)
    .filter((name) => CONFIG.test(name) && name.includes('.config.'))
    // Prisma reads prisma7.config.ts alone if both exist.
    .sort()
    .reverse()
  if (newest !== undefined) return join(root, newest)
  const folder = join(root, '.config')
  const [inFolder] = existsSync(folder) ? readdirSync(folder).filter((name) => CONFIG.test(name)) : []
  return inFolder === undefined ? undefined : join(folder, inFolder)
}

/** Loads the config with the loader of the project's own Prisma. */
async function loadConfig(project: Project, file: string): Promise<PrismaConfig> {
  const name = relative(project.root, file)
  const loader = project.find(['@prisma/config'], ['prisma/package.json'])
  if (!loader)
    throw wrongUsage(
      `${name} can be read only with the project's own Prisma – install the project's packages first, such as prisma.`,
    )
  const { loadConfigFromFile } = loader.load() as ConfigPackage
  const placeholders: string[] = []
  try {
    for (;;) {
      const { config, error } = await loadConfigFromFile({ configRoot: project.root, configFile: file })
      if (!error) return placeholders.length > 0 ? { ...config, datasource: {} } : (config ?? {})
      const why = oneLine(error.error ?? error._tag)
      const [, missing] = /environment variable:? [`'"]?(\w+)/i.exec(why) ?? []
      // `env()` of prisma/config throws, though only the URL depends on it.
      if (missing === undefined || placeholders.includes(missing))
        throw wrongUsage(`${name} cannot be loaded: ${why}`)
      placeholders.push(missing)
      process.env[missing] = 'unset'
    }
  } finally {
    for (const placeholder of placeholders) Reflect.deleteProperty(process.env, placeholder)
  }
}

/** Where Prisma looks without a setting. */
function usualSchema(project: Project): string | undefined {
  const { root, manifest } = project
  const named = manifest.prisma?.schema
  if (typeof named === 'string') return resolve(root, named)
  const usual = ['prisma/schema.prisma', 'schema.prisma', 'prisma/schema'].find((path) =>
    project.exists(path),
  )
  return usual === undefined ? undefined : join(root, usual)
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

function prismaFilesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.prisma'))
    .map((file) => join(folder, file))
    .sort()
}

function withoutComments(text: string): string {
  return text.replace(/^\s*\/\/.*$/gm, '').replace(/\s\/\/ .*$/gm, '')
}
