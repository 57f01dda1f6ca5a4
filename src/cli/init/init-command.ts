import { join } from 'node:path'
import { Argument, type Command } from 'commander'
import { wrongUsage } from '../command-error'
import { usualFileWith } from '../environment'
import { addOptions, lockTableOptions, NAME_OPTIONS, type Flags } from '../options'
import { usualCompilers } from '../module-file'
import { nameFlags, print, warn } from '../output'
import { LOCKS, Project } from '../project'
import { writeText } from '../write-text'
import type { Plan, Step, Task, Write } from './plan'
import { prisma8Plan, prismaPlan } from './prisma-plan'
import { typeOrmPlan } from './typeorm-plan'
import { schedulersOf, usage } from './usage'

const OPTIONS = ['dryRun', 'migrations', ...NAME_OPTIONS] as const
type InitFlags = Flags<(typeof OPTIONS)[number]>

/** The ORMs by the package that shows them. */
const ORMS = [
  { name: 'typeorm', packages: ['typeorm', '@nestjs/typeorm'], plan: typeOrmPlan },
  { name: 'prisma', packages: ['@prisma/client', 'prisma'], plan: prismaPlan },
  { name: 'prisma-8', packages: ['@prisma/orm-postgres'], plan: prisma8Plan },
] as const

/** What this package needs of others. */
const PEERS = JSON.parse(process.env['SHEDLOCK_PEERS'] ?? '{}') as Readonly<Record<string, string>>

export function addInitCommand(program: Command): void {
  const init = program
    .command('init')
    .addArgument(new Argument('[orm]', 'if the project has several').choices(ORMS.map(({ name }) => name)))
    .summary('write the migration and the model into your project')
    .description(
      'Finds the ORM, the migrations and the scheduler of the project in this folder by package.json, the names of files and the Prisma schema, writes the migration of the lock table and the model, and prints the lines that are left to write. Asks if there are several folders of migrations. Never changes what exists, apart from adding the model to the end of a schema: run twice, it does nothing. Never connects to a database.',
    )
  addOptions(init, ...OPTIONS).action((orm: string | undefined, flags: InitFlags) => run(orm, flags))
}

async function run(orm: string | undefined, flags: InitFlags): Promise<void> {
  const project = new Project()
  const task = { project, names: lockTableOptions(flags), wanted: flags.migrations ?? [] }
  // The schema, the client and the jobs may be in several packages of a workspace.
  const members = project.members()
  const plan = await ormOf(project, members, orm).plan(task)
  const [member = project, ...more] = members.filter((each) => schedulersOf(each).length > 0)
  const [scheduler, [what, code], ...needs] = usage({ ...task, project: member }, plan)
  const folder = project.short(member.root)
  const where = folder === '.' ? '' : `, in ${folder}`
  warn(`found ${[...plan.found, scheduler].map((each) => each.trim()).join(', ')}${where}`)
  // With this setting the compiler does not look at our declarations.
  const skips = member
    .files('.json')
    .some((file) => file.includes('tsconfig') && /"skipLibCheck" *: *true/.test(member.read(file)))
  const compiler = skips ? {} : { typescript: '^5.2' }
  for (const [name, range] of Object.entries({ ...PEERS, ...compiler, '@nestjs/schedule': '^4' })) {
    const { version } = project.installed(name) ?? member.installed(name) ?? {}
    const [first = ''] = range.slice(1).split(' ')
    if (version !== undefined && version.localeCompare(first, 'en', { numeric: true }) < 0)
      warn(
        `${name} ${version} is too old: update it to ${first} or later (docs/works-with.md), and run this again`,
      )
  }
  const manager = project.manager()
  for (const [file, other] of Object.entries(LOCKS))
    if (other !== manager && project.top.exists(file))
      warn(`there is a ${file}, too: if your deployments use ${other}, install with it`)
  for (const file of plan.present) warn(`${file} already has the table, so it is left as it is`)
  for (const write of plan.writes) perform(write, flags.dryRun)
  for (const { file, appends } of plan.writes)
    if (project.ignores(file) || (appends && GENERATED.test(project.read(file))))
      warn(`git ignores ${file}, or it says it is generated: use git add -f, or change its source too`)
  for (const file of plan.others ?? [])
    warn(`${file} is left as it is: name it with --migrations if jobs use its database`)
  const shown = more.map((each) => `${project.short(each.root)} (${schedulersOf(each).join(', ')})`)
  if (shown.length > 0) warn(`there may be jobs in ${shown.join(', ')}, too`)
  const add = member.adds('shedlock-orm', ...needs)
  // The command runs here, too.
  const adds = where === '' ? [add] : [project.adds('shedlock-orm'), add && `(cd ${folder} && ${add})`]
  const install = adds.filter(Boolean).join('\n')
  const isUnknown = members.length > 1 && schedulersOf(member).length === 0
  const at = isUnknown ? '; if it is in another package, install shedlock-orm there' : where
  const steps: readonly Step[] = [
    ...(install === '' ? [] : [['Install:', install] as const]),
    ...plan.steps,
    [`${what}${at}; let each return or await its work, because what it catches itself is no failure:`, code],
    check(task, plan),
  ]
  const texts = steps.map(([what, code], n) => `${n + 1}. ${what}${code && `\n\n${indented(code, 3)}`}`)
  const runner = manager === 'bun' ? 'bunx' : project.top.exists('.pnp.cjs') ? 'yarn' : 'npx'
  print(texts.join('\n\n').replace(/\bnpx(?= )/g, runner))
}

/** In the first comments of a file. */
const GENERATED = /^([ \t\r]*(\/\/.*)?\n)*[ \t]*\/\/.*\b(generated (by|from)|do not (edit|modify))\b/i

function ormOf(project: Project, members: readonly Project[], wanted: string | undefined) {
  const having = (has: (name: string) => boolean) => ORMS.filter(({ packages }) => packages.some(has))
  const choices = [
    having((name) => project.declares(name)),
    having((name) => project.has(name)),
    having((name) => name === 'prisma' && project.exists('prisma/schema.prisma')),
  ]
  const found = choices.find((each) => each.length > 0) ?? []
  // Some name one that they do not use, and Prisma 8 needs the package prisma too.
  const is8 = found.some(({ name }) => name === 'prisma-8')
  const imports = (expression: RegExp): boolean => project.sources(expression).length > 0
  const isTypeOrm = (): boolean => imports(/['"](@nestjs\/)?typeorm['"]/)
  const isPrisma = (): boolean =>
    imports(/['"]@prisma\//) || members.some((each) => each.files('.prisma').length > 0)
  const isUsed = {
    typeorm: isTypeOrm,
    prisma: () => !is8 && isPrisma(),
    'prisma-8': () => true,
  }
  const used = found.length === 1 ? found : found.filter(({ name }) => isUsed[name]())
  const known = used.length === 0 ? found : used
  const [orm, ...others] = wanted === undefined ? known : ORMS.filter(({ name }) => name === wanted)
  if (!orm) {
    const withOrm = members.filter((member) => having((name) => member.declares(name)).length > 0)
    const elsewhere = withOrm.map(({ root }) => project.short(root)).join(', ')
    const why = `The package.json of ${project.root} names neither typeorm nor @prisma/client`
    throw wrongUsage(
      elsewhere === ''
        ? `${why} – for other clients, print the table with \`npx shedlock-orm sql <database>\`.`
        : `${why}, but there is an ORM in ${elsewhere}: run the command where the migrations or the schema are.`,
    )
  }
  const several = known.map(({ name }) => name)
  if (others.length > 0)
    throw wrongUsage(
      `This project has ${several.join(' and ')} – name one: shedlock-orm init ${several.join('|')}`,
    )
  return orm
}

function perform({ file, text, appends }: Write, isDry = false): void {
  const [verb, done] = appends ? ['add to', `added the model to ${file}`] : ['write', `wrote ${file}`]
  if (isDry) print(`Would ${verb} ${file}:\n\n${indented(text.trim(), 2)}\n\n`)
  else writeText(file, text, appends)
  if (!isDry) warn(done)
}

function check({ project, names }: Task, plan: Plan): Step {
  const { missingDriver, url, otherUrls = [], variable = 'DATABASE_URL' } = plan
  const [dataSource = '', ...more] = plan.dataSources ?? []
  const others = [...more.filter((each) => project.exists(each)), ...otherUrls.map((each) => `--url ${each}`)]
  const used = project.read(dataSource).match(/(?<=\bprocess\.env(\.|\[['"]))\w+/g) ?? []
  const file = url ? undefined : usualFileWith(project, variable, ...used)
  const other = others[0] ? `; if that is not the database of the jobs, with ${others.join(' or ')}` : ''
  const unset = dataSource ? 'the variables of the app' : variable
  const set = unset && !file ? `, with ${unset} set` : ''
  const isSource = /\.[cm]?ts$/.test(dataSource)
  // Bun compiles as the app expects it, also its own __dirname.
  const bun = isSource && project.manager() === 'bun' ? ' --bun' : ''
  const compilers = isSource && !bun ? usualCompilers(join(project.root, dataSource)) : []
  const [missing = missingDriver] = compilers.some((each) => project.has(each)) ? [] : compilers
  const install = missing === undefined ? '' : project.adds('-D', missing)
  const options = `${dataSource && ` -d ${dataSource}`}${url ? ` --url ${url}` : ''}${file ? ` --env ${file}` : ''}${nameFlags(names)}`
  return [
    `Check the table and the connection${set}${dataSource.endsWith('js') ? ', after a build if it needs one' : ''}${other} (docs/cli.md#connection):`,
    `${install && `${install}\n`}npx${bun} shedlock-orm doctor${options}`,
  ]
}

function indented(text: string, by: number): string {
  return text.trimEnd().replace(/^(?=.)/gm, ' '.repeat(by))
}
