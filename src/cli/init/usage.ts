import { basename, dirname, extname, join } from 'node:path'
import { jsonIn, type Project } from '../project'
import { literal, type Plan, type Step, type Task } from './plan'

/** How a scheduler calls a job: what is imported of it, the slot, the call, and what stops it at a shutdown. */
type Scheduler = readonly [imported: string, slot: string, start: string, stop: string]

const CRON = "'*/15 * * * *'"
const DOCS = 'docs/schedulers.md#slots'
const CRON_JOB = `CronJob.from({ cronTime: ${CRON}, start: true, onTick() { return send(this) } })`

/** Every scheduler that is recognized, with its first version that is printed, or the page about it. */
export const SCHEDULERS = {
  '@nestjs/schedule': 'docs/nestjs.md',
  bree: DOCS,
  'node-cron': [3, ['schedule', 'slot: slotOf', `schedule(${CRON}, send)`, 'job.stop()']],
  croner: [6, ['Cron', 'slot: (job: Cron) => slotOf(job)', `new Cron(${CRON}, send)`, 'job.stop()']],
  'node-schedule': [
    1,
    ['scheduleJob', 'slot: (due: Date) => due', `scheduleJob(${CRON}, send)`, 'job.cancel()'],
  ],
  cron: [3, ['CronJob', 'slot: (job: CronJob) => slotOf(job.cronTime)', CRON_JOB, 'job.stop()']],
  'toad-scheduler': DOCS,
} as const satisfies Readonly<Record<string, string | readonly [from: number, Scheduler]>>

/** The compiler and test/registries.test.ts name the places of each. */
export type SchedulerName = keyof typeof SCHEDULERS

const OTHER: Scheduler = [
  '',
  "lockAtLeastFor: '14m'",
  '// let your scheduler call send() every 15 minutes: lockAtLeastFor is a little less',
  '// stop it',
]

const RECIPES = 'docs/guides/recipes.md#nextjs-nuxt-monorepos'
/** Nest has lines of its own. */
const FRAMEWORKS = {
  express: 'docs/shutdown.md#express',
  fastify: 'docs/shutdown.md#fastify',
  ...{ next: RECIPES, nuxt: RECIPES, nitropack: RECIPES },
}

/** Queues, which call each due time once by themselves. */
export const QUEUES = ['bullmq', 'bull', 'agenda', 'pg-boss', 'graphile-worker']

/** The schedulers that a package with jobs names, the one to print first, with their versions. */
export function schedulersOf(member: Project): readonly string[] {
  const found = namesIn(member).map((name) => `${name} ${member.version(name)}`)
  return found.length > 0 ? found : ['vercel.json']
}

function namesIn(member: Project): readonly SchedulerName[] {
  return (Object.keys(SCHEDULERS) as SchedulerName[]).filter((name) => member.declares(name))
}

/** Whether a member of a workspace schedules jobs. */
export function hasJobs(member: Project): boolean {
  return namesIn(member).length > 0 || routeOf(member) !== undefined
}

/** The first route that Vercel calls as a job. */
function routeOf(member: Project): string | undefined {
  const { crons } = (jsonIn(join(member.root, 'vercel.json')) ?? {}) as { crons?: { path: string }[] }
  return crons?.[0]?.path
}

/** The scheduler and its version, the lines to write, and what they import beside this package and the scheduler. */
type Usage = readonly [scheduler: string, step: Step, ...needs: string[]]

export function usage(task: Task, plan: Plan): Usage {
  const { project } = task
  const route = routeOf(project)
  const own = namesIn(project)
  const names = own.length > 0 || !project.workspace ? own : namesIn(project.workspace)
  const [name, ...others] = names
  const version = name === undefined ? '' : project.version(name)
  const also = others.map((each) => `, and ${each} ${project.version(each)}, which is not shown`).join('')
  const found = `${name ?? 'no scheduler that it knows'} ${version}${also}`
  if (name === '@nestjs/schedule' || (name === undefined && project.has('@nestjs/core')))
    return nest(task, plan, found, name !== undefined)
  if (route !== undefined)
    return [
      'the crons of vercel.json',
      [`${ROUTE}, such as ${route}`, `new LockingTaskExecutor(${callOf(task, plan, plan.client.name)})`],
      'croner',
    ]
  const known = name === undefined ? DOCS : SCHEDULERS[name]
  const isKnown = typeof known !== 'string' && Number.parseInt(version, 10) >= known[0]
  const [module = '', scheduler, page] = isKnown ? [name, known[1], ''] : ['', OTHER, DOCS]
  // They start jobs, or handle signals, in a way of their own.
  const [, framework = ''] = Object.entries(FRAMEWORKS).find(([each]) => project.has(each)) ?? []
  const pages = [page, framework].filter(Boolean).join(', ')
  const what = `Lock each job that one instance is to run${pages && ` (see ${pages} in the repository)`}`
  return [found, [what, linesOf(task, plan, module, scheduler)]]
}

const ROUTE =
  'Lock each route that Vercel, which may call it twice, is to run once, as docs/guides/failover.md#serverless-functions in the repository shows, with this executor'

function callOf({ names }: Task, { provider: [name], adapter }: Plan, client: string): string {
  const options = [adapter && 'adapter: own', literal(names).slice(2, -2)].filter(Boolean).join(', ')
  return `${name}(${client}${options && `, { ${options} }`})`
}

/** The provider, one job, and the shutdown. */
function linesOf(task: Task, plan: Plan, module: string, scheduler: Scheduler): string {
  const { project } = task
  const [provider, entry] = plan.provider
  const { name, close } = plan.client
  const [imported, slot, start, stop] = scheduler
  const shutdown = `
let ended: Promise<void> | undefined
const end = async () => { // first close a server, if there is one
  ${[stop, 'await executor.shutdown()', ...(close === undefined ? [] : [`await ${close}`])].join('\n  ')}
  // process.exit() here, if timers of yours would go on
}
// npm sends two signals, so use on, not once. If handlers of yours exit, await (ended ??= end()) in each instead.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => (ended ??= end()))`
  const code = `${module && `import { ${imported} } from '${module}'\n`}import { LockingTaskExecutor${`${slot}${start}`.includes('slotOf') ? ', slotOf' : ''} } from 'shedlock-orm'
import { ${provider} } from 'shedlock-orm/${entry}'
${importOf(project, plan)}
${plan.adapter ?? ''}
const executor = new LockingTaskExecutor(${callOf(task, plan, name)})
const send = executor.wrap(
  { name: 'report', lockAtMostFor: '14m', ${slot}, onError: console.error },
  () => console.log('sending the report'), // your job
)
${start.startsWith('//') ? '' : 'const job = '}${start}
${shutdown}`
  if (project.isTypeScript()) return code
  const plain = code.replace(/: (Cron|Date|CronJob|Promise<void> \| undefined)\b|!(?=\)\n)/g, '')
  const written = (style: RegExp) => project.sources().filter((file) => style.test(project.read(file))).length
  return project.manifest.type === 'module' || written(/^import\b/m) > written(/\brequire\(/)
    ? plain
    : plain.replace(/^import (\{[^}]*\}) from ('[^']*')/gm, 'const $1 = require($2)')
}

/** As a file beside that of the client imports it. */
function importOf(project: Project, { client: { name, file, imported = `{ ${name} }` } }: Plan): string {
  if (file === undefined || !project.exists(file)) return `// and ${name}, your client`
  const path = `./${basename(file, extname(file))}${project.manifest.type === 'module' ? '.js' : ''}`
  return `import ${imported} from '${path}' // in ${dirname(file)}, if your app initializes it`
}

const GET_TOKEN = `import { getDataSourceToken } from '@nestjs/typeorm'
import { DataSource } from 'typeorm'
`

/** @param hasCron whether it has `@Cron`, and not only timers */
function nest(task: Task, plan: Plan, found: string, hasCron: boolean): Usage {
  const { project } = task
  const [name, entry] = plan.provider
  // Nest knows the DataSource only through this package.
  const isKnown = entry !== 'typeorm' || project.has('@nestjs/typeorm')
  const call = callOf(task, plan, isKnown ? 'client' : plan.client.name)
  const several = plan.isOneOfSeveral === true && isKnown
  const [token, type, imports] =
    entry === 'typeorm'
      ? ['getDataSourceToken()', 'DataSource', GET_TOKEN]
      : ['PrismaService', 'PrismaService', '']
  const lockProvider = !isKnown || several ? call : call === `${name}(client)` ? name : `(client) => ${call}`
  const options = `{ lockProvider: ${lockProvider}${hasCron ? ', cronTime: CronTime' : ''} }`
  // The module finds only one client by itself.
  const module = several
    ? `forRootAsync({
  inject: [${token}], // that of the table, by its name if it has one; import its module, unless it is global
  useFactory: (client: ${type}) => (${options}),
})`
    : `forRoot(${options})`
  const [cron, slot] = hasCron
    ? [`@Cron(${CRON}) // needs ScheduleModule.forRoot()\n  `, '']
    : [
        '// your timer calls it every 15 minutes: lockAtLeastFor is a little less\n  ',
        ", lockAtLeastFor: '14m'",
      ]
  const hooks = project.sources().some((file) => project.read(file).includes('.enableShutdownHooks('))
  const code = `${hasCron ? "import { CronTime } from 'cron'\n" : ''}import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { ${name} } from 'shedlock-orm/${entry}'
${several ? imports : ''}${isKnown ? (plan.adapter ?? '') : `${importOf(project, plan)}\n`}
// in the imports of each root module whose app has jobs
ShedLockModule.${module}

// on each job
class Reports {
  ${cron}@SchedulerLock({ name: 'report', lockAtMostFor: '14m'${slot} })
  async send() {}
}
${hooks ? '' : '\n// where the app starts\napp.enableShutdownHooks()\n'}`
  const what =
    'Import the module, and lock each job that one instance is to run (for those of SchedulerRegistry see docs/nestjs.md#dynamic-jobs-intervals-and-timeouts in the repository)'
  const wanted = project.versionFor('@nestjs/schedule', 'cron')
  const own = project.version('cron')
  const differs =
    project.has('cron') && wanted !== '' && Number.parseInt(own, 10) !== Number.parseInt(wanted.slice(1), 10)
  const other = differs ? `, which has cron${wanted}, not ${own}: make them one` : ''
  return [`${found}${other}`, [what, code], ...(hasCron ? [`cron${wanted}`] : [])]
}
