import { basename, dirname, extname, join, normalize } from 'node:path'
import { inspect } from 'node:util'
import type { DialectName, LockTableOptions } from '../../sql/internal'
import { dialectOfDataSource } from '../../typeorm/internal'
import { wrongUsage } from '../command-error'
import { isCommonJs, type Project } from '../project'
import { inStyle } from './code-style'
import { LIMITS, WHY_LIMITS, type Plan, type Step, type Write } from './plan'

/** The files of TypeORM's migrations: `1715028537217-CreateUser.ts`. */
const DATED = /^(\d{13})([-_])(\w.*)\.([cm]?[jt]s)$/
const DATED_CLASS = /\bclass\s+\w*?(\d{13})\b/
/** Folders whose siblings hold the same migrations for another database. */
const DATABASE = /^(sqlite\d?|postgres(ql)?|mysql|mariadb|mssql|sqlserver|cockroach(db)?|oracle)$/i
const NOT_OF_THE_APP = /(^|\/)(tests?|__tests__|fixtures|examples?|e2e)\//

interface Migration {
  readonly file: string
  readonly text: string
  readonly date: number
}

interface Source {
  readonly file: string
  readonly text: string
}

/** @param wanted the folder of the migrations; default: where they are */
export async function typeOrmPlan(
  project: Project,
  names: LockTableOptions,
  wanted: string | undefined,
): Promise<Plan> {
  const sources = project.sources().map((file): Source => ({ file, text: project.read(file) }))
  const migrations = sources.flatMap(asMigration)
  const present = sources.filter((source) => isPresent(source, names)).map(({ file }) => file)
  const dataSource = sources.find(exportsDataSource)
  const folders = present.length > 0 ? [] : foldersFor(project, wanted, migrations, sources)
  // One date for all, which sorts behind every other migration.
  const date = Math.max(Date.now(), ...migrations.map((each) => each.date + 1))
  const sample = dataSource?.text ?? ''
  const writes = await Promise.all(
    folders.map((folder) => migrationIn(project, folder, migrations, sample, date, names)),
  )
  const lists = new Set(writes.flatMap((write) => listOf(write, migrations, sources) ?? []))
  const steps: Step[] = []
  if (lists.size > 0)
    steps.push({
      what: `List CreateShedLock${date} in ${[...lists].join(', ')}, as the other migrations are.`,
    })
  const isNew = writes.length === 0 && present.length === 0
  const fileWith = (option: string, value: string): string | undefined =>
    sources.find(
      ({ file, text }) =>
        !NOT_OF_THE_APP.test(file) && new RegExp(`\\b${option}\\s*:\\s*${value}`).test(text),
    )?.file
  const synchronizes = isNew ? fileWith('synchronize', 'true\\b') : undefined
  // Of the environment, for example.
  const maySynchronize = isNew ? fileWith('synchronize', '(?!(true|false|boolean)\\b)\\S') : undefined
  const dialect = dialectIn(sources)
  const database = dialect ?? dialectOfDriver(project)
  const entity = `import { shedLockEntity } from 'shedlock-orm/typeorm'\n\nconst entities = [shedLockEntity(${literal({ ...names, ...(dialect !== undefined && { dialect }) })})]\n`
  if (synchronizes !== undefined)
    steps.push({
      what: `${synchronizes} has \`synchronize: true\`, so add the entity to \`entities\`, also beside \`autoLoadEntities\`, which creates the table:`,
      code: entity,
    })
  else if (maySynchronize !== undefined)
    steps.push({
      what: `${maySynchronize} sets \`synchronize\` to an expression. If that is true where the app runs, add the entity to \`entities\`, also beside \`autoLoadEntities\`, which creates the table, and leave out the two steps after this one:`,
      code: entity,
    })
  if (isNew && synchronizes === undefined)
    steps.push({
      what: 'No folder of migrations was found, so list the migration in the DataSource:',
      code: `import { createShedLockMigration } from 'shedlock-orm/typeorm'\n\nconst migrations = [createShedLockMigration(${literal(names)})]\n`,
    })
  if (synchronizes === undefined) {
    const runs = fileWith('migrationsRun', 'true\\b')
      ? ', rather than with migrationsRun, which may fail when two start together'
      : ''
    steps.push({ what: `Run the migrations when you deploy, before the instances start${runs}.` })
  }
  const limit = database === undefined ? LIMIT_OF_ANY : LIMIT[database]
  if (limit !== undefined && !sources.some(({ text }) => LIMITS.test(text)))
    steps.push({ what: `${WHY_LIMITS}: ${limit} in the options of the DataSource.` })
  return {
    found: [`TypeORM ${project.version('typeorm')}`.trim()],
    writes,
    present,
    steps,
    provider: { entry: 'typeorm', name: 'typeOrmLockProvider', client: 'dataSource' },
    close: 'dataSource.destroy()',
    dataSource: dataSource?.file,
    startsApp: dataSource !== undefined && STARTS.test(withoutComments(dataSource.text)),
    url: database === undefined ? 'URL' : URL_FORM[database],
    ...(dataSource && {
      variables: [...dataSource.text.matchAll(/process\.env\.(\w+)/g)].map(([, name = '']) => name),
    }),
  }
}

/** What limits how long a connection may take to open, where the driver has no limit or a long one. */
const LIMIT: Readonly<Partial<Record<DialectName, string>>> = {
  postgres: '`connectTimeoutMS: 4_000`',
  cockroachdb: '`extra: { connectionTimeoutMillis: 4_000 }`',
  mysql: '`connectTimeout: 4_000`',
  mariadb: '`connectTimeout: 4_000`',
}
const LIMIT_OF_ANY =
  '`connectTimeoutMS: 4_000` for PostgreSQL, `connectTimeout: 4_000` for MySQL and MariaDB,'

const URL_FORM: Readonly<Partial<Record<DialectName, string>>> = {
  sqlite: 'file:PATH',
  ...Object.fromEntries(
    ['postgres', 'cockroachdb', 'mysql', 'mariadb', 'mssql'].map((scheme) => [
      scheme,
      `${scheme}://USER:PASSWORD@HOST/DATABASE`,
    ]),
  ),
}

/** What a file does that starts an app: its server, its jobs, or its connection. */
const STARTS =
  /\.initialize\s*\(|\blisten\s*\(|\bNestFactory\b|\b(schedule|scheduleJob|setInterval)\s*\(|\bnew\s+(Cron|CronJob|Bree|ToadScheduler)\b|\bCronJob\.from\s*\(/

function withoutComments(text: string): string {
  return text.replace(/\/\*.*?\*\//gs, '').replace(/(^|\s)\/\/.*$/gm, '')
}

/** Whether the command line finds a DataSource in the file, as TypeORM's does. Others may create one within a function. */
function exportsDataSource({ text }: Source): boolean {
  if (/^(export\b|(module\.)?exports\b)[^;{}]*?\bnew\s+(\w+\.)?DataSource\s*\(/m.test(text)) return true
  const [, name] = /^(?:const|let|var)\s+(\w+)\b[^=;{}]*=\s*new\s+(?:\w+\.)?DataSource\s*\(/m.exec(text) ?? []
  return (
    name !== undefined &&
    new RegExp(`^(export\\s+(default|\\{)|(module\\.)?exports\\b)[^;]*?\\b${name}\\b`, 'm').test(text)
  )
}

/** The dialect of the app's DataSource. An entity then has the types and the collation of the migration. */
function dialectIn(sources: readonly Source[]): DialectName | undefined {
  return sources
    .filter(({ file }) => !NOT_OF_THE_APP.test(file))
    .flatMap(({ text }) => [...text.matchAll(/\btype\s*:\s*['"]([\w-]+)['"]/g)].map(([, type = '']) => type))
    .map(dialectOf)
    .find(Boolean)
}

function dialectOf(type: string): DialectName | undefined {
  try {
    return dialectOfDataSource({ type })
  } catch {
    // The type of a column, for example.
    return undefined
  }
}

const DRIVERS: Readonly<Record<string, DialectName>> = {
  pg: 'postgres',
  mysql2: 'mysql',
  mysql: 'mysql',
  'better-sqlite3': 'sqlite',
  sqlite3: 'sqlite',
  'sql.js': 'sqlite',
  mssql: 'mssql',
}

/** Which database the project has a driver for; `undefined` if it has several, or none. */
function dialectOfDriver(project: Project): DialectName | undefined {
  const names = Object.keys(DRIVERS).filter((name) => project.has(name))
  const [dialect, ...others] = new Set(names.map((name) => DRIVERS[name]))
  return others.length === 0 ? dialect : undefined
}

function asMigration({ file, text }: Source): Migration[] {
  const [, inName] = DATED.exec(basename(file)) ?? []
  const [, inClass] = DATED_CLASS.exec(text) ?? []
  const date = inClass ?? inName
  return date !== undefined && /\bup\b\s*[(=]/.test(text) ? [{ file, text, date: Number(date) }] : []
}

/** Whether a file already creates this table. */
function isPresent({ file, text }: Source, { tableName, schema }: LockTableOptions): boolean {
  if (NOT_OF_THE_APP.test(file)) return false
  const given = [tableName, schema].filter((name) => name !== undefined)
  const isMeant = (part: string): boolean => given.every((name) => part.includes(name))
  const calls = [...text.matchAll(/createShedLockMigration\(([^)]*)\)/g)].map(([, options = '']) => options)
  if (calls.some((options) => (given.length === 0 ? options.trim() === '' : isMeant(options)))) return true
  return given.length === 0 && /create\s+table[^;(]{0,80}\bshedlock\b/i.test(text)
}

/** The folders into which the migration belongs; none if the DataSource lists classes. */
function foldersFor(
  project: Project,
  wanted: string | undefined,
  migrations: readonly Migration[],
  sources: readonly Source[],
): readonly string[] {
  if (wanted !== undefined) return foldersAt(wanted, migrations)
  const named = sources.flatMap((source) => folderIn(project, source))
  const folders = foldersOf(migrations, named)
  return folders.length > 0 ? folders : named.slice(0, 1)
}

/**
 * Where the migrations are.
 *
 * @param named the folders that the project's DataSources name
 * @throws CommandError if it is a choice
 */
function foldersOf(all: readonly Migration[], named: readonly string[]): readonly string[] {
  const ofApp = all.filter(({ file }) => !NOT_OF_THE_APP.test(file))
  const migrations = ofApp.length > 0 ? ofApp : all
  const folders = [...new Set(migrations.map(({ file }) => dirname(file)))]
  if (folders.length < 2) return folders
  const areDatabases = folders.every((folder) => DATABASE.test(basename(folder)))
  const [parent, ...others] = new Set(folders.map((folder) => dirname(folder)))
  if (areDatabases && others.length === 0) return folders
  const outermost = folders.find((folder) => folders.every((each) => `${each}/`.startsWith(`${folder}/`)))
  // Folders by year or release: the newest.
  if (outermost !== undefined || (others.length === 0 && parent !== '.')) {
    const [newest] = [...migrations].sort((one, other) => other.date - one.date)
    if (newest) return [dirname(newest.file)]
  }
  // The others may be old ones, or those of a library.
  const [used, ...more] = folders.filter((folder) => named.includes(folder))
  if (used !== undefined && more.length === 0) return [used]
  throw wrongUsage(`There are migrations in ${folders.join(', ')} – name the folder with --migrations.`)
}

/** The folder that the user named, or those for each database in it. */
function foldersAt(wanted: string, migrations: readonly Migration[]): readonly string[] {
  const folder = normalize(wanted)
    .replace(/[\\/]+$/, '')
    .replaceAll('\\', '/')
  const within = new Set(
    migrations.map(({ file }) => dirname(file)).filter((each) => dirname(each) === folder),
  )
  return within.size > 0 && [...within].every((each) => DATABASE.test(basename(each)))
    ? [...within]
    : [folder]
}

/** The folder that a DataSource's `migrations` names by a pattern. */
function folderIn(project: Project, { file, text }: Source): string[] {
  const [, list = ''] = /\bmigrations\s*:\s*\[([^\]]*)\]/.exec(text) ?? []
  const isBeside = /__dirname|import\.meta/.test(list)
  const parts = [...list.matchAll(/['"`]([^'"`]*)['"`]/g)].map(([, part = '']) =>
    part.replace(/^\$\{__dirname\}/, ''),
  )
  const path = parts.join('/').split(/[^/]*[*{]/)[0] ?? ''
  if (!parts.some((part) => part.includes('*'))) return []
  const folder = normalize(isBeside ? join(dirname(file), path) : path)
    .replace(/[\\/]+$/, '')
    .replaceAll('\\', '/')
  const source = folder.replace(/^(\.\/)?(dist|build|out)(?=\/|$)/, project.exists('src') ? 'src' : '.')
  return source === '.' || source === '' ? [] : [normalize(source)]
}

async function migrationIn(
  project: Project,
  folder: string,
  migrations: readonly Migration[],
  otherSample: string,
  date: number,
  names: LockTableOptions,
): Promise<Write> {
  const [newest] = migrations
    .filter(({ file }) => dirname(file) === folder)
    .sort((one, other) => other.date - one.date)
  const sample = newest?.text ?? otherSample
  const [, , separator = '-', title = '', dated] = DATED.exec(basename(newest?.file ?? '')) ?? []
  const extension =
    dated ?? (newest ? extname(newest.file).slice(1) : project.has('typescript') ? 'ts' : 'js')
  const word = /^[a-z\d]+(-|$)/.test(title)
    ? 'create-shed-lock'
    : /^[a-z\d]+_/.test(title)
      ? 'create_shed_lock'
      : 'CreateShedLock'
  const file = join(folder, `${date}${separator}${word}.${extension}`).replaceAll('\\', '/')
  const text = migrationText(project, file, `CreateShedLock${date}`, names)
  return { file, text: await inStyle(project, file, text, sample) }
}

function migrationText(project: Project, file: string, name: string, names: LockTableOptions): string {
  const isJavaScript = /\.[cm]?js$/.test(file)
  const isCommon = isJavaScript && isCommonJs(join(project.root, file))
  const head = isCommon
    ? "const { createShedLockMigration } = require('shedlock-orm/typeorm')"
    : "import { createShedLockMigration } from 'shedlock-orm/typeorm'"
  return `${head}

${isCommon ? `exports.${name} =` : 'export'} class ${name} extends createShedLockMigration(${literal(names)}) {
  ${isJavaScript ? '' : 'override '}name = '${name}'
}
`
}

/** The file that imports the newest of the other migrations by its name, if there is one. */
function listOf({ file }: Write, migrations: readonly Migration[], sources: readonly Source[]) {
  const folder = dirname(file)
  const [newest] = migrations
    .filter((each) => dirname(each.file) === folder)
    .sort((one, other) => other.date - one.date)
  if (!newest) return undefined
  const name = basename(newest.file, extname(newest.file))
  return sources.find(({ text }) =>
    new RegExp(`(from|require\\()\\s*['"][^'"]*/${name}(\\.\\w+)?['"]`).test(text),
  )?.file
}

/** Table options as an argument; empty without any. */
export function literal(options: LockTableOptions & { readonly dialect?: string }): string {
  return Object.keys(options).length === 0 ? '' : inspect(options, { compact: true, breakLength: Infinity })
}
