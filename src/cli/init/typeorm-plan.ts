import { basename, dirname, extname, join } from 'node:path'
import { DATABASE_TYPES, dialectOfDataSource } from '../../typeorm/internal'
import { wrongUsage } from '../command-error'
import { nameFlags } from '../output'
import { isCommonJs, Project } from '../project'
import { literal, type Plan, type Step, type Task } from './plan'

/** The files of TypeORM's migrations: `1715028537217-CreateUser.ts`, with an ending that the DataSource may look for. */
const DATED = /^(\d{13})(([-_]).+?((?:[-.]migration)?\.[cm]?[jt]s))$/i

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
  const written = await Promise.all(missing.map((folder, index) => migrationIn(task, folder, date + index)))
  const made = sources.filter((file) => MADE.test(project.read(file)))
  // A module of Nest makes one of its own, and does not use that of the command line.
  const client = clientOf(project, project.has('@nestjs/typeorm') ? [] : made)
  return {
    found: [`TypeORM ${project.version('typeorm')}`],
    writes: written.map(({ write }) => write),
    present: folders.length < 2 ? present : present.filter((file) => folders.includes(dirname(file))),
    steps: [
      ...(isNew ? withoutFolder(task, sources) : []),
      ...written.flatMap(({ lists }) => lists),
      ...(isNew && synchronizes(project, sources) ? [] : [running(project, sources)]),
    ],
    provider: ['typeOrmLockProvider', 'typeorm'],
    client: { ...client, close: `${client.name}.destroy()` },
    isOneOfSeveral: sources.flatMap((file) => project.read(file).match(MODULE) ?? []).length > 1,
    ...dataSourceOf(project, made),
  }
}

/** Whether a DataSource makes its tables from the entities, always. */
function synchronizes(project: Project, sources: readonly string[]): boolean {
  return sources.some((file) => /\bsynchronize: true\b/.test(project.read(file)))
}

function running(project: Project, sources: readonly string[]): Step {
  const own = project.scriptOf((text) => /\bmigrations?:run\b/.test(text))
  const scripts = [project, project.workspace].map((each) => each?.inScripts(/(\bmigrations?:run\b)/))
  const runs = /\brunMigrations\(|\bmigrationsRun: (?!false)/
  const who = sources.some((file) => runs.test(project.read(file)))
    ? 'The app runs the migrations when it starts: let it do so before the other instances start, or on one of them'
    : `${scripts.some(Boolean) ? '' : 'No source and no script of package.json was found that runs migrations. '}Run them when you deploy, before the instances start, or on one of them`
  const end = own ? ':' : '.'
  return [
    `${who} (docs/tables.md#when-every-instance-migrates). A DataSource with \`synchronize: true\` also lists shedLockEntity()${end}`,
    own,
  ]
}

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

/** A new migration, and what lists it. */
async function migrationIn({ project, names }: Task, folder: string, date: number) {
  const beside = project.sources().filter((file) => dirname(file) === folder)
  const dated = beside.filter((file) => DATED.test(basename(file)))
  const sample = dated.at(-1) ?? beside.at(-1)
  const extension = sample === undefined ? (project.isTypeScript() ? '.ts' : '.js') : extname(sample)
  const [, , rest, separator = '-', ending = extension] = DATED.exec(basename(sample ?? '')) ?? []
  const name = `CreateShedLock${date}`
  // A DataSource may look for a name that all share.
  const isShared = dated.length > 1 && dated.every((file) => basename(file).slice(13) === rest)
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
  const lists = sample === undefined ? [] : listing(project, sample, file, byDefault ? name : `{ ${name} }`)
  return { write: { file, text: await project.format(path, text) }, lists }
}

/** The line for each file that names the newest migration by its path. */
function listing(project: Project, sample: string, added: string, imported: string): readonly Step[] {
  const stem = (file: string): string => basename(file, extname(file))
  return project.sources().flatMap((file) => {
    const lines = project.read(file).split('\n')
    const line = lines.find((each) => each.includes(`/${stem(sample)}`) && !/^\s*(\/\/|\*)/.test(each)) ?? ''
    const [path] = /(['"])[^'"]*\1/.exec(line) ?? []
    if (path === undefined) return []
    const from = path.replace(stem(sample), () => stem(added))
    const code = line.startsWith('export')
      ? `export * from ${from}`
      : `${line.includes('require(') ? `const ${imported} = require(${from})` : `import ${imported} from ${from}`}\n// at the end of the list: ${imported.replace(/[{} ]/g, '')}`
    return [[`Add the migration to ${file}, as the others:`, code]]
  })
}

function withoutFolder({ project, names }: Task, sources: readonly string[]): readonly Step[] {
  const found = sources.flatMap((file) => [...project.read(file).matchAll(TYPE)].map(([, type]) => type))
  const types = new Set(found)
  const [type] = types.size === 1 ? types : []
  const dialect = type && dialectOfDataSource({ type })
  // The entity needs it for a schema, and for names on MySQL.
  const options = { ...names, dialect: dialect ?? '<database>' }
  const entities = `const entities = [shedLockEntity(${literal(options)})]\n`
  if (synchronizes(project, sources))
    return [
      [
        'List the entity in the DataSource that has `synchronize: true`, also beside `autoLoadEntities` (docs/tables.md):',
        `import { shedLockEntity } from 'shedlock-orm/typeorm'\n\n${entities}`,
      ],
    ]
  const what = `No folder of migrations was found. Name it with --migrations, list the migration in the DataSource, or create the table that \`npx shedlock-orm sql ${dialect ?? '<database>'}${nameFlags(names)}\` prints; with \`synchronize: true\` list the entity instead, also beside \`autoLoadEntities\`, and leave out the next step (docs/tables.md):`
  const code = `import { createShedLockMigration, shedLockEntity } from 'shedlock-orm/typeorm'

const migrations = [createShedLockMigration(${literal(names)})]
${entities}`
  return [[what, code]]
}

const TYPE = new RegExp(`\\btype: ['"](${Object.keys(DATABASE_TYPES).join('|')})['"]`, 'g')

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

/** What would connect, and run migrations, or start the app when the file is loaded. */
const STARTS = /^(?:await |void )?\w+\s*\.initialize\(|\.listen\(/m

/** The files that scripts pass to TypeORM's command line, that of migrations first; or the one that is called like one, or exports it. */
function dataSourceOf(project: Project, made: readonly string[]): Pick<Plan, 'dataSource' | 'dataSources'> {
  const starts = (file: string): boolean => STARTS.test(project.read(file))
  const scripts = Object.values(project.manifest.scripts ?? {}).join('\n')
  const lines = [...scripts.matchAll(/.*typeorm.*\s(?:-d|--dataSource)[ =](\S+\.[cm]?[jt]s)\b.*/g)]
  const sorted = [true, false].flatMap((runs) => lines.filter(([line]) => line.includes(':run') === runs))
  const named = sorted.map(([, file = '']) => project.short(join(project.root, file)))
  const dataSources = [...new Set(named)].filter((file) => !starts(file))
  const quiet = made.filter((file) => !starts(file))
  const usual = quiet.filter((file) => /(data-?source|ormconfig|\btypeorm([.-]config)?)\.\w+$/i.test(file))
  const exporting = quiet.filter((file) => /^export\b/m.test(project.read(file)))
  const only = [usual, exporting].find((files) => files.length === 1) ?? []
  return { dataSource: dataSources[0] ?? only[0], dataSources }
}
