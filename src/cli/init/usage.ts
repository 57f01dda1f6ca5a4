import { basename, dirname, extname, join } from 'node:path'
import { jsonIn, type Project } from '../project'
import { literal, type Plan, type Step, type Task } from './plan'

/** How a scheduler calls a job: what is imported of it, the slot, the call, and what stops it at a shutdown. */
type Scheduler = readonly [imported: string, slot: string, start: string, stop: string]

const CRON = "'*/15 * * * *'"
const DOCS = 'docs/schedulers.md#slots'
const CRON_JOB = `CronJob.from({ cronTime: ${CRON}, start: true, onTick() { return send(this) } })`

/** Every scheduler that is recognized, with its first version that is printed, or the page about it. */
const SCHEDULERS = {
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
const FRAMEWORKS = {
  '@nestjs/core': 'docs/nestjs.md',
  express: 'docs/shutdown.md#express',
  fastify: 'docs/shutdown.md#fastify',
  ...{ next: RECIPES, nuxt: RECIPES, nitropack: RECIPES },
}

/** Whether a member of a workspace schedules jobs. */
export function hasJobs(member: Project): boolean {
  return Object.keys(SCHEDULERS).some((name) => member.declares(name)) || cronOf(member) !== undefined
}

type Cron = Readonly<Record<'path' | 'schedule', string>>

/** The first job that Vercel calls by HTTP. */
function cronOf(member: Project): Cron | undefined {
  const { crons } = (jsonIn(join(member.root, 'vercel.json')) ?? {}) as { crons?: Cron[] }
  return crons?.[0]
}

/** The scheduler and its version, the lines to write, and what they import beside this package and the scheduler. */
type Usage = readonly [scheduler: string, step: Step, ...needs: string[]]

export function usage(task: Task, plan: Plan): Usage {
  const { project } = task
  const cron = cronOf(project)
  const name = (Object.keys(SCHEDULERS) as SchedulerName[]).find((each) => project.has(each))
  const version = name === undefined ? '' : project.version(name)
  if (name === '@nestjs/schedule') return nest(task, plan, version)
  if (cron) return ['the crons of vercel.json', route(task, plan, cron), 'croner']
  const known = name === undefined ? DOCS : SCHEDULERS[name]
  const isKnown = typeof known !== 'string' && Number.parseInt(version, 10) >= known[0]
  const [module = '', scheduler, page] = isKnown ? [name, known[1], ''] : ['', OTHER, DOCS]
  // They start jobs, or handle signals, in a way of their own.
  const [, framework = ''] = Object.entries(FRAMEWORKS).find(([each]) => project.has(each)) ?? []
  const pages = [page, framework].filter(Boolean).join(', ')
  const what = `Lock each job that one instance is to run${pages && ` (see ${pages} in the repository)`}`
  return [`${name ?? 'no scheduler'} ${version}`, [what, linesOf(task, plan, module, 'report', scheduler)]]
}

/** For any framework. */
function route(task: Task, plan: Plan, { path, schedule }: Cron): Step {
  const call = `const slot = () => slotOf(new Cron('${schedule}', { timezone: 'UTC', paused: true }), Date.now() + 30_000) // as in vercel.json
// in the route, after your check of the caller; before Next.js 15 also export const dynamic = 'force-dynamic': const { executed } = await send(slot())`
  const what = `Lock each route that Vercel, which may call it twice, is to run once, such as ${path} (see docs/guides/failover.md#serverless-functions in the repository)`
  return [what, linesOf(task, plan, 'croner', path, ['Cron', 'slot: (due: Date) => due', call, ''])]
}

function callOf({ names }: Task, { provider: [name], adapter }: Plan, client: string): string {
  const options = [adapter && 'adapter: own', literal(names).slice(2, -2)].filter(Boolean).join(', ')
  return `${name}(${client}${options && `, { ${options} }`})`
}

/** The provider, one job, and the shutdown. */
function linesOf(task: Task, plan: Plan, module: string, job: string, scheduler: Scheduler): string {
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
// npm sends two signals. If you have a handler, await (ended ??= end()) in it.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => (ended ??= end()))`
  const code = `${module && `import { ${imported} } from '${module}'\n`}import { LockingTaskExecutor${`${slot}${start}`.includes('slotOf') ? ', slotOf' : ''} } from 'shedlock-orm'
import { ${provider} } from 'shedlock-orm/${entry}'
${importOf(project, plan)}
${plan.adapter ?? ''}
const executor = new LockingTaskExecutor(${callOf(task, plan, name)})
const send = executor.wrap(
  { name: '${job}', lockAtMostFor: '14m', ${slot}${stop && ', onError: console.error'} },
  () => console.log('sending the report'), // your job
)
${/^(\/\/|const)/.test(start) ? '' : 'const job = '}${start}
${stop && shutdown}`
  if (project.isTypeScript()) return code
  const plain = code.replace(/: (Cron|Date|CronJob|Promise<void> \| undefined)\b|!(?=\)\n)/g, '')
  const written = (style: RegExp) => project.sources().filter((file) => style.test(project.read(file))).length
  // A route of Next.js is an ES module, whatever the project is.
  return project.manifest.type === 'module' || stop === '' || written(/^import\b/m) > written(/\brequire\(/)
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

function nest(task: Task, plan: Plan, version: string): Usage {
  const { project } = task
  const [name, entry] = plan.provider
  // Nest knows the DataSource only through this package.
  const isKnown = entry !== 'typeorm' || project.has('@nestjs/typeorm')
  const call = callOf(task, plan, isKnown ? 'client' : plan.client.name)
  const several = plan.isOneOfSeveral === true && isKnown
  const [token, type, imports] =
    entry === 'typeorm'
      ? ["getDataSourceToken('its name')", 'DataSource', GET_TOKEN]
      : ['PrismaService', 'PrismaService', '']
  const lockProvider = !isKnown || several ? call : call === `${name}(client)` ? name : `(client) => ${call}`
  const options = `{ lockProvider: ${lockProvider}, cronTime: CronTime }`
  // The module finds only one client by itself.
  const module = several
    ? `forRootAsync({
  inject: [${token}], // that of the table; import its module, unless it is global
  useFactory: (client: ${type}) => (${options}),
})`
    : `forRoot(${options})`
  const code = `import { CronTime } from 'cron'
import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { ${name} } from 'shedlock-orm/${entry}'
${several ? imports : ''}${isKnown ? (plan.adapter ?? '') : `${importOf(project, plan)}\n`}
// in the imports of the root module
ShedLockModule.${module}

// on each job
class Reports {
  @Cron(${CRON})
  @SchedulerLock({ name: 'report', lockAtMostFor: '14m' })
  async send() {}
}

// where the app starts
app.enableShutdownHooks()
`
  const what =
    'Import the module, and lock each job that one instance is to run (for those of SchedulerRegistry see docs/nestjs.md#dynamic-jobs-intervals-and-timeouts in the repository)'
  const cron = `cron${project.versionFor('@nestjs/schedule', 'cron')}`
  return [`@nestjs/schedule ${version}`, [what, code], cron]
}
