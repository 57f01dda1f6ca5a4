import type { Project } from '../project'
import { inStyleOf, literal, type Plan, type Step, type Task } from './plan'

/** How a scheduler calls a job: what is imported of it, the slot, and the call. */
type Scheduler = readonly [imported: string, slot: string, start: string]

const CRON = "'*/15 * * * *'"
const DOCS = 'docs/schedulers.md#slots'
const APPS = 'docs/guides/recipes.md#nextjs-nuxt-monorepos'
const CRON_JOB = `CronJob.from({ cronTime: ${CRON}, start: true, onTick() { return send(this) } })`

/** Every scheduler that is recognized, with its first version that is printed, or the page about it. */
export const SCHEDULERS = {
  '@nestjs/schedule': 'docs/nestjs.md',
  bree: DOCS,
  'node-cron': [3, ['schedule', 'slot: slotOf', `schedule(${CRON}, send)`]],
  croner: [6, ['Cron', 'slot: (job: Cron) => slotOf(job)', `new Cron(${CRON}, send)`]],
  'node-schedule': [1, ['scheduleJob', 'slot: (due: Date) => due', `scheduleJob(${CRON}, send)`]],
  cron: [3, ['CronJob', 'slot: (job: CronJob) => slotOf(job.cronTime)', CRON_JOB]],
  'toad-scheduler': DOCS,
} as const satisfies Readonly<Record<string, string | readonly [from: number, Scheduler]>>

/** The compiler and test/registries.test.ts name the places of each. */
export type SchedulerName = keyof typeof SCHEDULERS

const [NEST, ROUTES] = ['@nestjs/schedule', 'routes called as jobs'] as const
/** With routes that Vercel or others call, and the one to print first in front. */
const KNOWN = {
  ...{ [NEST]: SCHEDULERS[NEST], [ROUTES]: 'docs/guides/failover.md#serverless-functions' },
  ...SCHEDULERS,
}

const OTHER: Scheduler = [
  '',
  "lockAtLeastFor: '14m'",
  '// let your scheduler call it every 15 minutes: lockAtLeastFor is less, by more than a start may be late',
]

/** Whether a framework starts its code in a way of its own. */
const isFramework = (app: Project): boolean => ['next', 'nuxt', 'nitropack'].some((each) => app.has(each))

/** The schedulers that a member of a workspace names, the one to print first. */
export function schedulersOf(member: Project): readonly (keyof typeof KNOWN)[] {
  const names = Object.keys(KNOWN) as (keyof typeof KNOWN)[]
  // They may be below a folder for all routes, and Vercel's settings may be code.
  const hasRoutes = ['vercel.json', ...member.sources()].some((file) =>
    /^vercel\.\w+$/.test(file)
      ? /\bcrons\b/.test(member.read(file))
      : /^(src\/)?(app|pages|server)\/(.*\/)?api\/(.*\/)?crons?\b/.test(file) && isFramework(member),
  )
  // Nest's has cron, and needs its CronTime.
  const isNests = (name: string): boolean => name === 'cron' && member.declares(NEST)
  return names.filter((name) => (name === ROUTES ? hasRoutes : member.declares(name) && !isNests(name)))
}

/** The scheduler and its version, the lines to write, and what they import beside this package and the scheduler. */
type Usage = readonly [scheduler: string, step: Step, ...needs: string[]]

export function usage(task: Task, plan: Plan): Usage {
  const { project } = task
  const named = schedulersOf(project)
  const imports = (each: string) => new RegExp(`\\b(from|import|require)\\b[\\s(]*['"]${each}['"]`)
  const used = named.filter((each) => each === ROUTES || project.sources(imports(each)).length > 0)
  const [name, ...others] = new Set([...used, ...named])
  const version = name === undefined ? '' : project.version(name)
  const isUnused = name !== undefined && used.length === 0 && project.sources().length > 0
  const all = [name ?? 'no scheduler in package.json that it knows', ...others]
  const found =
    all.map((each) => `${each} ${project.version(each)}`.trim()).join(' and ') +
    (isUnused ? ', which no source imports' : '') +
    (others.length > 0 ? ', of which the first is shown' : '')
  const has = (expression: RegExp): boolean => project.sources(expression).length > 0
  if (name === NEST || ((name ?? ROUTES) === ROUTES && project.has('@nestjs/core')))
    return nest(task, plan, found, name === NEST && (has(/@Cron\(/) || !has(OTHER_STARTS)))
  // What starts with the server of a framework has a page of its own.
  const start = isFramework(project) ? [APPS, ...(others.length > 0 ? [DOCS] : [])] : [DOCS]
  if (name === ROUTES)
    return [
      found,
      [
        `Lock each route that is called as a job, because a call may come twice, as ${KNOWN[ROUTES]} in the repository shows (jobs that the app starts itself: ${start.join(', ')}), with this executor`,
        `new LockingTaskExecutor(${callOf(task, plan, plan.client.name)})`,
      ],
      'croner',
    ]
  const known = name === undefined ? DOCS : KNOWN[name]
  const isPrinted = typeof known !== 'string' && Number.parseInt(version, 10) >= known[0]
  const [module, scheduler] = isPrinted ? [name ?? '', known[1]] : ['', OTHER]
  // Jobs that no scheduler shows may be in any package.
  const apps = name === undefined ? project.members() : [project]
  const pages = [
    ...(isPrinted && !isUnused ? [] : [typeof known === 'string' ? known : DOCS]),
    ...(name === undefined || isUnused
      ? ['docs/guides/recipes.md#queues', 'docs/cli.md#shedlock-orm-exec', KNOWN[ROUTES]]
      : []),
    ...(apps.some(isFramework) ? [APPS] : []),
    ...(project.has('@nestjs/core') ? [SCHEDULERS[NEST]] : []),
  ].join(', ')
  const what = `Lock each job that one instance is to run${pages && ` (see ${pages} in the repository)`}`
  return [found, [what, linesOf(task, plan, module, scheduler)]]
}

function callOf({ names }: Task, { provider: [name] }: Plan, client: string): string {
  return `${name}(${[client, literal(names)].filter(Boolean).join(', ')})`
}

/** The provider and one job. */
function linesOf(task: Task, plan: Plan, module: string, scheduler: Scheduler): string {
  const { project } = task
  const [provider, entry] = plan.provider
  const [imported, slot, start] = scheduler
  const code = `${module && `import { ${imported} } from '${module}'\n`}import { LockingTaskExecutor${`${slot}${start}`.includes('slotOf') ? ', slotOf' : ''} } from 'shedlock-orm'
import { ${provider} } from 'shedlock-orm/${entry}'
${importOf(project, plan)}

const executor = new LockingTaskExecutor(${callOf(task, plan, plan.client.name)})
const send = executor.wrap(
  { name: 'report', lockAtMostFor: '14m', ${slot}, onError: console.error },
  () => console.log('sending the report'), // your job
)
${start}

// at SIGTERM, after the scheduler and before the database: await executor.shutdown() (docs/shutdown.md)`
  return inStyleOf(project, code)
}

/** Where the client is imported: only the user knows the path from there. */
function importOf(project: Project, { client: { name, path } }: Plan): string {
  const file = path === undefined ? '' : ` (that of ${project.short(path)}, if your app uses it)`
  return `// and ${name}, your client${file}`
}

/** How Nest's scheduler starts jobs without `@Cron`. */
const OTHER_STARTS = /@(Interval|Timeout)\(|\bSchedulerRegistry\b/

/** @param hasCron whether it has `@Cron`, and not only timers */
function nest(task: Task, plan: Plan, scheduler: string, hasCron: boolean): Usage {
  const { project } = task
  const [name, entry] = plan.provider
  const isTypeOrm = entry === 'typeorm'
  // Nest knows the DataSource only through this package.
  const isKnown = !isTypeOrm || project.has('@nestjs/typeorm')
  // Each application of a monorepo may have a DataSource of its own.
  const hasSeveral = isTypeOrm
    ? project.sources(/\bTypeOrmModule\.forRoot[^]*\bTypeOrmModule\.forRoot/).length > 0
    : project.sources(/\bextends PrismaClient\b/).length > 1
  const isOnly = !plan.others?.length && !hasSeveral
  const call = callOf(task, plan, isKnown ? 'client' : plan.client.name)
  const found = call === `${name}(client)` ? name : `(client) => ${call}`
  const [, atLeast, timer] = OTHER
  const [cron, time, slot] = hasCron
    ? [`@Cron(${CRON}) // needs ScheduleModule.forRoot()`, ', cronTime: CronTime', '']
    : [timer, '', `, ${atLeast}`]
  const options = `{ lockProvider: ${isKnown && isOnly ? found : call}${time} }`
  const [token, type, which] = isTypeOrm
    ? [
        'getDataSourceToken()',
        'DataSource',
        'with the name of the DataSource that has this table, if it has one',
      ]
    : ['PrismaService', 'PrismaService', 'the service that is, or has, the client of this table']
  const injected = `{
  inject: [${token}], // ${which}
  useFactory: (client: ${type}) => (${options}),
}`
  const imports =
    isTypeOrm && !isOnly
      ? "import { getDataSourceToken } from '@nestjs/typeorm'\nimport type { DataSource } from 'typeorm'\n"
      : ''
  const code = `${hasCron ? "import { CronTime } from 'cron'\n" : ''}${imports}import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { ${name} } from 'shedlock-orm/${entry}'
${isKnown ? '' : `${importOf(project, plan)}\n`}
// in the imports of each root module whose app has jobs
ShedLockModule.${isOnly ? `forRoot(${options})` : `forRootAsync(${injected})`}

// on each job
class Reports {
  ${cron}
  @SchedulerLock({ name: 'report', lockAtMostFor: '14m'${slot} })
  async send() {}
}

// where the app starts
app.enableShutdownHooks()`
  const what =
    'Import the module, and lock each job that one instance is to run (for @Interval and @Timeout, a client outside Nest or one of several, and jobs of SchedulerRegistry, see docs/nestjs.md in the repository)'
  return [scheduler, [what, code], ...(hasCron ? [`cron${project.versionFor(NEST, 'cron')}`] : [])]
}
