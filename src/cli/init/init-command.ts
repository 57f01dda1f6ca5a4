import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Argument, type Command } from 'commander'
import type { LockTableOptions } from '../../sql/internal'
import { wrongUsage } from '../command-error'
import { readEnvironment, usualFileWith } from '../environment'
import { addOptions, lockTableOptions, NAME_OPTIONS, type Flags } from '../options'
import { print, warn } from '../output'
import { Project } from '../project'
import { inStyle, withRequire } from './code-style'
import type { Plan, Step, Write } from './plan'
import { prisma8Plan, prismaPlan } from './prisma-plan'
import { literal, typeOrmPlan } from './typeorm-plan'
import { hasScheduler, usage, usesRequire } from './usage'

const OPTIONS = ['dryRun', 'migrations', 'env', ...NAME_OPTIONS] as const
type InitFlags = Flags<(typeof OPTIONS)[number]>

type PlanOf = (
  project: Project,
  names: LockTableOptions,
  migrations: string | undefined,
) => Plan | Promise<Plan>

/** The ORMs by the package that shows them. */
const ORMS: readonly {
  readonly name: string
  readonly packages: readonly string[]
  readonly plan: PlanOf
}[] = [
  { name: 'typeorm', packages: ['typeorm'], plan: typeOrmPlan },
  { name: 'prisma', packages: ['@prisma/client', 'prisma'], plan: prismaPlan },
  { name: 'prisma-8', packages: ['@prisma/orm-postgres'], plan: prisma8Plan },
]

export function addInitCommand(program: Command): void {
  const init = program
    .command('init')
    .addArgument(new Argument('[orm]', 'if the project has several').choices(ORMS.map(({ name }) => name)))
    .summary('write the migration and the model into your project')
    .description(
      'Finds the ORM, the migrations, the schema and the scheduler of the project in this folder, writes the migration of the lock table and the model in its style, and prints the lines that are left to write. Never changes what exists, apart from adding the model to the end of a schema: run twice, it does nothing. Never connects to a database.',
    )
  addOptions(init, ...OPTIONS).action((orm: string | undefined, flags: InitFlags) => run(orm, flags))
}

async function run(orm: string | undefined, flags: InitFlags): Promise<void> {
  if (flags.env !== undefined) readEnvironment(flags.env)
  const project = new Project()
  const names = lockTableOptions(flags)
  const { plan: planOf, packages } = ormOf(project, orm)
  checkVersion(project, packages)
  const plan = await planOf(project, names, flags.migrations)
  const nearest = project.memberWith(plan.writes[0]?.file ?? plan.present[0] ?? '')
  // A library of a monorepo may have the schema, and only the root names what the apps use.
  const member = [nearest, project].find(hasScheduler) ?? nearest
  const { scheduler, what, code, needs } = usage(member, plan)
  warn(`found ${[...plan.found, scheduler ?? 'no scheduler'].join(', ')}`)
  for (const file of plan.present) warn(`${file} already has the table, so it is left as it is`)
  for (const write of plan.writes) {
    if (flags.dryRun) preview(write)
    else perform(project, write)
  }
  const steps = [
    ...installation(project, member, needs),
    ...plan.steps,
    { what, code: withNames(code, plan, names) },
    check(project, plan),
  ]
  const isCommon = usesRequire(member)
  for (const [index, step] of steps.entries()) await explain(project, index + 1, step, isCommon)
}

function ormOf(project: Project, wanted: string | undefined) {
  const own = ORMS.filter(({ packages }) => packages.some((name) => project.declares(name)))
  const found =
    own.length > 0 ? own : ORMS.filter(({ packages }) => packages.some((name) => project.has(name)))
  // Prisma 8 needs the package prisma too.
  const known = found.some(({ name }) => name === 'prisma-8')
    ? found.filter(({ name }) => name !== 'prisma')
    : found
  const [orm, ...others] = wanted === undefined ? known : ORMS.filter(({ name }) => name === wanted)
  if (!orm) {
    const why = project.exists('package.json')
      ? `The package.json of ${project.root} names neither typeorm nor @prisma/client`
      : `There is no package.json in ${project.root}`
    throw wrongUsage(
      `${why}${elsewhere(project)} – for other clients, print the table with \`npx shedlock-orm sql <database>\`.`,
    )
  }
  if (others.length > 0)
    throw wrongUsage(
      `This project has ${known.map(({ name }) => name).join(' and ')} – name one: shedlock-orm init ${orm.name}`,
    )
  return orm
}

/** The versions of other packages that this one works with, from its package.json. */
const PEERS = JSON.parse(process.env['SHEDLOCK_PEERS'] ?? '{}') as Readonly<Record<string, string>>

function checkVersion(project: Project, [name = '']: readonly string[]): void {
  const range = PEERS[name]
  const version = project.version(name)
  const numbers = (text: string): number[] => text.split('.').map(Number)
  const [lowest = '0'] = /\d+(\.\d+)*/.exec(range ?? '') ?? []
  const [found, wanted] = [numbers(version), numbers(lowest)]
  const different = wanted.findIndex((number, index) => number !== found[index])
  if (range !== undefined && version !== '' && (found[different] ?? 0) < (wanted[different] ?? 0))
    throw wrongUsage(`${name} ${version} is too old – shedlock-orm works with ${range}.`)
}

/** Where else in a monorepo an ORM is. */
function elsewhere(project: Project): string {
  const folders = project
    .files('.json')
    .filter((file) => file.endsWith('/package.json'))
    .map((file) => dirname(file))
    .filter((folder) => {
      const other = new Project(join(project.root, folder))
      return ORMS.some(({ packages }) => packages.some((name) => other.declares(name)))
    })
  return folders.length === 0 ? '' : `, but there is an ORM in ${folders.join(', ')}: run the command there`
}

function perform(project: Project, { file, text, appends = false }: Write): void {
  const path = join(project.root, file)
  try {
    mkdirSync(dirname(path), { recursive: true })
    if (appends) appendFileSync(path, text)
    else writeFileSync(path, text, { flag: 'wx' })
  } catch (error) {
    throw wrongUsage(`${file} cannot be written: ${(error as Error).message}`)
  }
  warn(appends ? `added the model to ${file}` : `wrote ${file}`)
}

function preview({ file, text, appends = false }: Write): void {
  print(
    `${appends ? 'Would add to' : 'Would write'} ${file}:\n\n${text.trim().replace(/^(?=.)/gm, '  ')}\n\n`,
  )
}

/** This package, and those that the printed lines import, such as the one that `@nestjs/schedule` brings but an app under pnpm cannot import. */
function installation(project: Project, member: Project, needs: readonly string[]): Step[] {
  const missing = ['shedlock-orm', ...needs]
    .filter((name) => !member.has(name) && !project.has(name))
    .map((name) => (name === 'cron' ? `cron${member.versionFor('@nestjs/schedule', 'cron')}` : name))
  if (missing.length === 0) return []
  return [
    {
      what: `Install ${missing.join(' and ')}:`,
      code: `${adds(project)} ${missing.join(' ')}\n`,
      language: 'sh',
    },
  ]
}

/** The command of the project's package manager that adds a package. */
function adds(project: Project): string {
  const managers = {
    'pnpm-lock.yaml': 'pnpm add',
    'yarn.lock': 'yarn add',
    'bun.lock': 'bun add',
    'bun.lockb': 'bun add',
  }
  const [, command = 'npm install'] = Object.entries(managers).find(([file]) => project.hasAbove(file)) ?? []
  return command
}

/** Passes the provider the names of the table. */
function withNames(code: string, { provider: { name, client } }: Plan, names: LockTableOptions): string {
  const options = literal(names)
  if (options === '') return code
  return code
    .replace(`${name}(${client})`, `${name}(${client}, ${options})`)
    .replace(`lockProvider: ${name}`, `lockProvider: (client) => ${name}(client, ${options})`)
}

function check(project: Project, plan: Plan): Step {
  const { dataSource, startsApp = false, url, missingDriver, variables = ['DATABASE_URL'] } = plan
  // Oracle, for example, is reached only with a DataSource.
  const loaded = startsApp && url !== undefined ? undefined : dataSource
  const file = usualFileWith(loaded === undefined && url !== undefined ? ['DATABASE_URL'] : variables)
  const env = file === undefined ? '' : ` --env ${file}`
  const { loader, options } = loading(project, loaded)
  const source =
    loaded === undefined ? (url === undefined || env !== '' ? '' : ` --url "${url}"`) : ` -d ${loaded}`
  const missing = [missingDriver, loader].filter(Boolean)
  const install = missing.length === 0 ? '' : `${adds(project)} -D ${missing.join(' ')}\n`
  const why = [
    missingDriver === undefined ? '' : ", with a driver, because the command cannot use Prisma's engine",
    startsApp
      ? `; with \`-d\`, it would execute ${dataSource}, which seems to start the app, so ${loaded === undefined ? 'do not use that' : 'first move the DataSource into a file of its own'}`
      : '',
  ]
  return {
    what: `Check the table and the connection${why.join('')}:`,
    code: `${install}${options === '' ? '' : `NODE_OPTIONS="${options}" `}npx shedlock-orm doctor${source}${env}\n`,
    language: 'sh',
  }
}

/** What makes Node.js load the project's TypeScript: packages, and the option with which each does. */
const LOADERS = [
  ['tsx', '--import tsx'],
  ['ts-node', '--require ts-node/register'],
  ['ts-node-dev', '--require ts-node/register'],
] as const
/** Modules that an app's scripts load before its files, and those of them that only TypeScript needs. */
const PRELOADED = /^(dotenv|tsconfig-paths|ts-node|tsx$|@swc-node|esbuild-register|module-alias)/
const FOR_TYPESCRIPT = /^(tsconfig-paths|ts-node|tsx$|@swc-node|esbuild-register)/

/** The options with which Node.js loads a file as the project's own scripts do, and the package to install for that. */
function loading(project: Project, file: string | undefined): { loader?: string; options: string } {
  if (file === undefined) return { options: '' }
  const isSource = /\.[cm]?ts$/.test(file)
  const scripts = Object.values(project.manifest.scripts ?? {}).join('\n')
  const preloaded = new Map(
    [...scripts.matchAll(/\s(-r|--require|--import)[ =]([@\w][\w@./-]*)/g)]
      .map(
        ([, option = '', name = '']) =>
          [name, `${option === '--import' ? option : '--require'} ${name}`] as const,
      )
      .filter(([name]) => PRELOADED.test(name) && project.has(packageOf(name)))
      .filter(([name]) => isSource || !FOR_TYPESCRIPT.test(name)),
  )
  const compiles = [...preloaded.keys()].some(
    (name) => FOR_TYPESCRIPT.test(name) && !name.startsWith('tsconfig-paths'),
  )
  const [loader, option] = LOADERS.find(([name]) => project.has(name)) ?? LOADERS[0]
  const needsLoader = isSource && !compiles
  const options = [...preloaded.values(), ...(needsLoader ? [option] : [])].join(' ')
  return { options, ...(needsLoader && !project.has(loader) && { loader }) }
}

function packageOf(module: string): string {
  return module
    .split('/')
    .slice(0, module.startsWith('@') ? 2 : 1)
    .join('/')
}

async function explain(
  project: Project,
  number: number,
  { what, code, language }: Step,
  isCommon: boolean,
): Promise<void> {
  print(`${number === 1 ? '' : '\n'}${number}. ${what}`)
  if (code === undefined) return
  const loads = isCommon ? withRequire(code) : code
  const shown = language === 'sh' ? code : await inStyle(project, 'src/shedlock.ts', loads, loads)
  print(`\n${shown.trimEnd().replace(/^(?=.)/gm, '   ')}`)
}
