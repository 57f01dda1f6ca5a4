import { basename, dirname, extname, join } from 'node:path'
import { DATABASE_TYPES, dialectOfDataSource } from '../../typeorm/internal'
import { wrongUsage } from '../command-error'
import { nameFlags } from '../output'
import { isCommonJs, Project } from '../project'
import { literal, type Plan, type Step, type Task, type Write } from './plan'

/** The files of TypeORM's migrations: `1715028537217-CreateUser.ts`, with an ending that the DataSource may look for. */
const DATED = /^(\d{13})([-_]).+?((?:[-.]migration)?\.[cm]?[jt]s)$/i

export async function typeOrmPlan(task: Task): Promise<Plan> {
  const { project, names, wanted } = task
  const sources = project.sources()
  const own = hasOwnRunner(project, sources) ? [] : foldersOf(project, sources)
  const folders = wanted.length > 0 ? wanted.flatMap((each) => foldersAt(project, each)) : own
  const call = compact(`createShedLockMigration(${literal(names)})`)
  const present = sources.filter((file) => compact(project.read(file)).includes(call))
  // Elsewhere than in a migration, it is in the list of the DataSource. Which of several folders that stands for is unknown.
  const isDone = (folder: string): boolean =>
    present.some((file) => dirname(file) === folder) || (folders.length === 1 && present.length > 0)
  const missing = folders.filter((folder) => !isDone(folder))
  if (wanted.length === 0 && missing.length > 1)
    throw wrongUsage(
      `There are migrations in ${missing.join(', ')} – name one for each database that needs the table with --migrations, which may be repeated, or the folder that contains them, for all.`,
    )
  const isListed =
    present.length > 0 || sources.some((file) => project.read(file).includes('shedLockEntity('))
  const isNew = folders.length === 0 && !isListed
  const inWorkspace = isNew ? foldersOf(project, project.filesOfWorkspace('.ts', '.js')) : []
  const elsewhere = inWorkspace.filter((folder) => folder.startsWith('../'))
  if (elsewhere.length > 0)
    throw wrongUsage(
      `There are no migrations here, but in ${elsewhere.join(', ')} – run this command in the package that has them.`,
    )
  // They sort behind all others, and differ, because a DataSource may load several folders.
  const dates = sources.map((file) => Number(DATED.exec(basename(file))?.[1] ?? 0) + 1)
  const date = Math.max(Date.now(), ...dates)
  const writes = missing.map((folder, index) => migrationIn(task, folder, date + index))
  const made = sources.filter((file) => MADE.test(project.read(file)))
  // A module of Nest makes one of its own, and does not use that of the command line.
  const client = clientOf(project, project.has('@nestjs/typeorm') ? [] : made)
  return {
    found: [`TypeORM ${project.version('typeorm')}`],
    writes: await Promise.all(writes),
    present: folders.length < 2 ? present : present.filter((file) => folders.includes(dirname(file))),
    steps: [...(isNew ? [withoutFolder(task, sources)] : []), [RUN, '']],
    provider: ['typeOrmLockProvider', 'typeorm'],
    client: { ...client, close: `${client.name}.destroy()` },
    isOneOfSeveral: sources.flatMap((file) => project.read(file).match(MODULE) ?? []).length > 1,
    dataSource: dataSourceOf(project, made),
  }
}

const RUN =
  'Run the migrations when you deploy, before the instances start, or on one of them (docs/tables.md#when-every-instance-migrates). A DataSource that lists each migration by its name needs the new one too, and one with `synchronize: true` lists shedLockEntity().'

/** Whether a module of Nest runs the migrations, which no DataSource lists, and so finds them by names of its own. */
function hasOwnRunner(project: Project, sources: readonly string[]): boolean {
  const hasModule = sources.some((file) => /\bmigrations?\.module\.\w+$/.test(file))
  return hasModule && !sources.some((file) => /\bmigrations\s*:/.test(project.read(file)))
}

/**
 * The outermost folders with dated files; without any, those with a migration of another name. Leaves out those that git ignores, because
 * they contain compiled files, unless git ignores all of them.
 */
function foldersOf(project: Project, sources: readonly string[]): readonly string[] {
  const dated = sources.filter((file) => DATED.test(basename(file)))
  const isMigration = (file: string): boolean =>
    /\bimplements \{?MigrationInterface\b|\bup\(queryRunner\b/.test(project.read(file))
  const found = dated.length > 0 ? dated : sources.filter(isMigration)
  const folders = new Set(found.map((file) => dirname(file)))
  const outermost = [...folders].filter((folder) => !folders.has(dirname(folder)))
  const kept = outermost.filter((folder) => !project.ignores(folder))
  return kept.length > 0 ? kept : outermost
}

/** A folder that the user named; or, if there is one for each database in it, where the newest migration of each is. */
function foldersAt(project: Project, wanted: string): readonly string[] {
  const path = join(project.root, wanted)
  const dated = new Project(path).sources().filter((file) => DATED.test(basename(file)))
  const oldestFirst = dated.toSorted((one, other) => (basename(one) < basename(other) ? -1 : 1))
  const newest = new Map(oldestFirst.map((file) => [file.split('/')[0], dirname(file)]))
  const parts = [...newest.values()]
  return (parts.length === 0 || parts.includes('.') ? ['.'] : parts).map((part) =>
    project.short(join(path, part)),
  )
}

/** A text without comments on lines of their own, and without what a formatter changes. */
function compact(text: string): string {
  const lines = text.split('\n').filter((line) => !/^\s*(\/\/|\/?\*)/.test(line))
  return lines.join('').replace(/['"`\s;]|,(?=\s*[)}])/g, '')
}

async function migrationIn({ project, names }: Task, folder: string, date: number): Promise<Write> {
  const sample = project.sources().findLast((file) => dirname(file) === folder)
  const extension = sample === undefined ? (project.isTypeScript() ? '.ts' : '.js') : extname(sample)
  const [, , separator = '-', ending = extension] = DATED.exec(basename(sample ?? '')) ?? []
  const name = `CreateShedLock${date}`
  const file = `${folder}/${date}${separator}CreateShedLock${ending}`
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
  return { file, text: await project.format(path, text) }
}

function withoutFolder({ project, names }: Task, sources: readonly string[]): Step {
  const types = new Set(sources.flatMap((file) => TYPE.exec(project.read(file))?.[1] ?? []))
  const [type] = types.size === 1 ? types : []
  const dialect = type && dialectOfDataSource({ type })
  // The entity needs it for a schema, and for names on MySQL.
  const options = { ...names, dialect: dialect ?? '<database>' }
  return [
    `No folder of migrations was found. Name it with --migrations, list the migration in the DataSource, or create the table that \`npx shedlock-orm sql ${dialect ?? '<database>'}${nameFlags(names)}\` prints; with \`synchronize: true\` list the entity instead, also beside \`autoLoadEntities\`, and leave out the next step (docs/tables.md):`,
    `import { createShedLockMigration, shedLockEntity } from 'shedlock-orm/typeorm'

const migrations = [createShedLockMigration(${literal(names)})]
const entities = [shedLockEntity(${literal(options)})]
`,
  ]
}

const TYPE = new RegExp(`\\btype: ['"](${Object.keys(DATABASE_TYPES).join('|')})['"]`)

const MODULE = /\bTypeOrmModule\.forRoot(Async)?\(/g

/** A DataSource that a file makes when it is loaded, not in a function, and its name if it has one. */
const MADE = /^(?=\w)(?!.*(?:=>|\bfunction\b))(?:.*\bconst (\w+)\b)?.*\bnew (?:\w+\.)?DataSource\(/m

/** What the one file that exports a DataSource calls it. Only for the printed lines. */
function clientOf(project: Project, made: readonly string[]): Omit<Plan['client'], 'close'> {
  const found = made.flatMap((file) => {
    const text = project.read(file)
    const [, name = 'dataSource'] = MADE.exec(text) ?? []
    const exports = (as: string): boolean => new RegExp(`^export (${as})`, 'm').test(text)
    if (exports(`default (new|${name})\\b`)) return [{ name, file, imported: name }]
    return exports(`const ${name}\\b|\\{[^}]*\\b${name}(,|\\s*\\})`) ? [{ name, file }] : []
  })
  return found.length === 1 && found[0] ? found[0] : { name: 'dataSource' }
}

/** The file that the scripts pass to TypeORM's command line, or that is called like one. Loading another one might start the app. */
function dataSourceOf(project: Project, made: readonly string[]): string | undefined {
  const named = project.inScripts(/typeorm.*\s(?:-d|--dataSource)[ =](\S+\.[cm]?[jt]s)\b/)
  const usual = made.filter((file) => /(data-?source|ormconfig|\btypeorm([.-]config)?)\.\w+$/i.test(file))
  return named || (usual.length === 1 ? usual[0] : undefined)
}
