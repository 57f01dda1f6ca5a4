import { basename, dirname, extname, join } from 'node:path'
import { DATABASE_TYPES, dialectOfDataSource } from '../../typeorm/internal'
import { wrongUsage } from '../command-error'
import { INITIALIZES } from '../data-source'
import { nameFlags } from '../output'
import { isCommonJs, Project } from '../project'
import { missingDriver } from '../url-connection'
import { clientsOf, inStyleOf, literal, type Plan, type Step, type Task } from './plan'

/** The files of TypeORM's migrations: `1715028537217-CreateUser.ts`, with an ending that the DataSource may look for. */
const DATED = /^(\d{13})(([-_]?).+?((?:[-.]?migration)?\.[cm]?[jt]s))$/i

export async function typeOrmPlan(task: Task): Promise<Plan> {
  const { project, names, wanted } = task
  const sources = project.sources()
  const folders = wanted[0] ? wanted.flatMap((each) => foldersAt(project, each)) : foldersOf(project, sources)
  const call = compact(`createShedLockMigration(${literal(names)})`)
  const present = sources.filter((file) => compact(project.read(file)).includes(call))
  // Elsewhere than in a migration, it is in the list of the DataSource. Which of several folders that stands for is unknown.
  const isDone = (folder: string): boolean =>
    present.some((file) => dirname(file) === folder) || (folders.length === 1 && present.length > 0)
  const missing = folders.filter((folder) => !isDone(folder))
  if (wanted.length === 0 && missing.length > 1)
    throw wrongUsage(
      `There are migrations in ${missing.join(', ')} – name one for each database that needs the table with --migrations, which may be repeated, or the folder that contains one for each database. If all are of one database, name the newest.`,
    )
  const isNew = [folders, present, project.sources(/\bshedLockEntity\(/)].every(({ length }) => length === 0)
  const inWorkspace = isNew ? foldersOf(project, project.filesOfWorkspace('.ts', '.js')) : []
  const elsewhere = inWorkspace.filter((folder) => folder.startsWith('../'))
  if (elsewhere.length > 0)
    throw wrongUsage(
      `There are no migrations here, but in ${elsewhere.join(', ')} – run this command in the package that has them, or name them with --migrations.`,
    )
  // They differ, because a DataSource may load several folders. One that is older than others is run, too.
  const date = Date.now()
  const written = await Promise.all(missing.map((folder, index) => migrationIn(task, folder, date + index)))
  const made = clientsOf(project, 'DataSource', 'dataSource')
  const exporting = made.map(({ path }) => project.short(path))
  // A module of Nest makes one of its own, and does not use that of the command line.
  const isKnown = made.length === 1 && !project.has('@nestjs/typeorm')
  const [client = { name: 'dataSource' }]: readonly Plan['client'][] = isKnown ? made : []
  const dataSources = dataSourcesOf(project, exporting)
  return {
    found: [`TypeORM ${project.version('typeorm')}`],
    writes: written.map(({ write }) => write),
    present: folders.length < 2 ? present : present.filter((file) => folders.includes(dirname(file))),
    steps: [
      ...(isNew ? [withoutFolder(task)] : written.flatMap(({ steps }) => steps)),
      ...(written.length + present.length > 0 ? [running(task)] : []),
    ],
    provider: ['typeOrmLockProvider', 'typeorm'],
    client,
    dataSources,
    missingDriver: dataSources[0] ? undefined : missingDriver(project, dialectOf(project)),
  }
}

/** How the project runs its migrations, the user knows best: with a script, after a build, or when the app starts. */
function running({ project, names }: Task): Step {
  const what = `Run the migration as you run your others, after a build if those are built; before the instances start, or on one of them (docs/tables.md#when-every-instance-migrates). A DataSource with \`synchronize: true\` also lists shedLockEntity(${literal({ ...names, dialect: dialectOf(project) })}).`
  return [what, '']
}

/**
 * The outermost folders with dated files; without any, those with a migration of another name. Leaves out those that git ignores, because
 * they contain compiled files, unless git ignores all of them.
 */
function foldersOf(project: Project, sources: readonly string[]): readonly string[] {
  const dated = sources.filter((file) => DATED.test(basename(file)))
  const found = dated.length > 0 ? dated : sources.filter((file) => MIGRATION.test(project.read(file)))
  const folders = new Set(found.map((file) => dirname(file)))
  const outermost = [...folders].filter((folder) => !folders.has(dirname(folder)))
  const kept = outermost.filter((folder) => !project.ignores(folder))
  return kept.length > 0 ? kept : outermost
}

const MIGRATION = /\bclass \w+\b[^]*\b(implements MigrationInterface|(?<!\.)up\(queryRunner)\b/

/** A folder that the user named; or, if there is one for each database in it, where the newest migration of each is. */
function foldersAt(project: Project, wanted: string): readonly string[] {
  const path = join(project.root, wanted)
  const dated = new Project(path).sources().filter((file) => DATED.test(basename(file)))
  const oldestFirst = dated.toSorted((one, other) => (basename(one) < basename(other) ? -1 : 1))
  const newest = new Map(oldestFirst.map((file) => [file.split('/')[0], dirname(file)]))
  const found = [...newest.values()]
  const parts = found.length === 0 || found.includes('.') ? ['.'] : found
  return parts.map((part) => project.short(join(path, part)))
}

/** A text without comments on lines of their own, and without what a formatter changes. */
function compact(text: string): string {
  return text.replace(/^\s*(\/\/|\/?\*).*$/gm, '').replace(/['"`\s;]|,(?=\s*[)}])/g, '')
}

/** A new migration, and what is left to do that it is found. */
async function migrationIn({ project, names }: Task, folder: string, date: number) {
  const beside = project.sources().filter((file) => dirname(file) === folder)
  const dated = beside.filter((file) => DATED.test(basename(file)))
  const sample = dated.at(-1) ?? beside.findLast((file) => MIGRATION.test(project.read(file)))
  const extension = sample === undefined ? (project.isTypeScript() ? '.ts' : '.js') : extname(sample)
  const [, , rest = '-', separator = '-', ending = extension] = DATED.exec(basename(sample ?? '')) ?? []
  const classes = dated.map((each) => /\bclass (\w*?)\d{13}\b/.exec(project.read(each))?.[1])
  const [prefix = 'CreateShedLock', ...others] = new Set(classes)
  const name = `${dated.length > 1 && others.length === 0 ? prefix : 'CreateShedLock'}${date}`
  const settings = project.sources(/\bmigrations *: |\bnew DataSource\(/).map((each) => project.read(each))
  // A DataSource may look for a name that all share.
  const isShared =
    dated.length > 1 &&
    settings.some((each) => each.includes(basename(rest, extension))) &&
    dated.every((file) => basename(file).slice(13) === rest)
  const file = `${folder}/${date}${isShared ? rest : `${separator}CreateShedLock${ending}`}`
  const path = join(project.root, file)
  const isJavaScript = extension.endsWith('js')
  const like = project.read(sample ?? '')
  const [byDefault = ''] = /(?<=^export) default(?= class)/m.exec(like) ?? []
  const semicolon = /;$/m.test(like) ? ';' : ''
  const [head, exported] =
    isJavaScript && isCommonJs(path)
      ? ["const { createShedLockMigration } = require('shedlock-orm/typeorm')", 'module.exports =']
      : ["import { createShedLockMigration } from 'shedlock-orm/typeorm'", `export${byDefault}`]
  const text = `${head}${semicolon}

${exported} class ${name} extends createShedLockMigration(${literal(names)}) {
  ${isJavaScript ? '' : 'override '}name = '${name}'${semicolon}
}
`
  // Files that name the newest migration by its path.
  const stem = `/${basename(sample ?? '', extname(sample ?? ''))}`
  const lists = project.sources().filter((each) => sample && compact(project.read(each)).includes(stem))
  const isNamed = settings.some((each) =>
    ['/', "'", '"', '`'].some((mark) => each.includes(mark + basename(folder))),
  )
  const what = lists[0]
    ? `Add ${file} to ${lists.join(' and ')}, as the others are.`
    : `Check that your DataSource loads ${folder}: none was found that names it. For another folder, use --migrations.`
  const steps: readonly Step[] = lists[0] || !isNamed ? [[what, '']] : []
  return { write: { file, text: await project.format(path, text) }, steps }
}

function withoutFolder({ project, names }: Task): Step {
  const dialect = dialectOf(project)
  const what = `No folder of migrations was found. Where \`synchronize\` is on, list the entity, also beside \`autoLoadEntities\`. Where it is off, as usual in production, name the folder with --migrations; or list the migration, and run it when you deploy (docs/tables.md#when-every-instance-migrates); or create the table that \`npx shedlock-orm sql ${dialect}${nameFlags(names)}\` prints:`
  const code = `import { createShedLockMigration, shedLockEntity } from 'shedlock-orm/typeorm'

const entities = [shedLockEntity(${literal({ ...names, dialect })})]
const migrations = [createShedLockMigration(${literal(names)})]`
  return [what, inStyleOf(project, code)]
}

/** The one that all sources and drivers show. The entity needs it for a schema, and for names on MySQL. */
function dialectOf(project: Project): string {
  const named = project.sources().flatMap((file) => project.read(file).match(TYPE) ?? [])
  const { manifest, declared } = project
  const drivers = Object.keys(named.length > 0 ? (manifest.dependencies ?? {}) : declared)
  const types = [...named, ...drivers.flatMap((name) => TYPES.get(name) ?? [])]
  const found = new Set(types.map((type) => dialectOfDataSource({ type })))
  // They have one driver.
  if (found.has('mariadb')) found.delete('mysql')
  const [dialect, ...others] = found
  return dialect && others.length === 0 ? dialect : '<database>'
}

/** Where only the app's environment has the type. */
const TYPES = new Map(Object.entries({ pg: 'postgres', mysql2: 'mysql', sqlite3: 'sqlite', mssql: 'mssql' }))
const TYPE = new RegExp(`(?<=\\btype *: *['"])(${Object.keys(DATABASE_TYPES).join('|')})(?=['"])`, 'g')

/** The files that scripts pass to TypeORM's command line, that of migrations first; without any, those that export a DataSource. */
function dataSourcesOf(project: Project, exporting: readonly string[]): readonly string[] {
  const scripts = project.scripts(/\btypeorm\b.*\s(?:-d|--dataSource)[ =]['"]?([^\s'"]+\.[cm]?[jt]s)\b/)
  const runs = scripts.filter(({ text }) => text.includes(':run'))
  const named = [...runs, ...scripts].map(({ found }) => project.short(join(project.root, found)))
  const usual = [/migrat[^/]*$/i, /(data-?source|ormconfig|\btypeorm([.-]config)?)\.\w+$/i, /./]
  const files =
    named.length > 0 ? named : usual.flatMap((each) => exporting.filter((file) => each.test(file)))
  const sourceOf = (file: string): string =>
    project.exists(file) ? file : file.replace(/^(dist|build)\/(src\/)?(.*)\.js$/, 'src/$3.ts')
  // None that the command line refuses, or that starts the app.
  const starts = (text: string): boolean => INITIALIZES.test(text) || text.includes('.listen(')
  return [...new Set(files)].filter((file) => !starts(project.read(sourceOf(file))))
}
