import { basename, dirname, extname, join } from 'node:path'
import type { LockTableOptions } from '../../sql/internal'
import type { Project } from '../project'
import { literal, type Plan, type Step } from './plan'

const CRON = "'*/15 * * * *'"
const DOCS = 'docs/schedulers.md#slots'

/** How each scheduler calls a job, from which version on; or the page about it. */
const SCHEDULERS = {
  '@nestjs/schedule': 'docs/nestjs.md',
  bree: DOCS,
  'node-cron': [3, 'schedule', 'slot: slotOf', `schedule(${CRON}, send)`, 'job.stop()'],
  croner: [6, 'Cron', 'slot: (job: Cron) => slotOf(job)', `new Cron(${CRON}, send)`, 'job.stop()'],
  'node-schedule': [
    1,
    'scheduleJob',
    'slot: (due: Date) => due',
    `scheduleJob(${CRON}, send)`,
    'job.cancel()',
  ],
  cron: [
    ...([4, 'CronJob', 'slot: (job: CronJob) => slotOf(job.cronTime)'] as const),
    ...([
      `CronJob.from({ cronTime: ${CRON}, start: true, onTick() { return send(this) } })`,
      'job.stop()',
    ] as const),
  ],
  'toad-scheduler': DOCS,
} as const satisfies Readonly<Record<string, string | Scheduler>>
type Scheduler = readonly [from: number, imported: string, slot: string, start: string, stop: string]

/** Every scheduler that is recognized. The compiler and test/registries.test.ts name the places of each. */
export type SchedulerName = keyof typeof SCHEDULERS

/** What starts jobs, or handles signals, in a way of its own. */
const FRAMEWORKS = ['next', 'nuxt', 'nitropack']
const FRAMEWORK_DOCS = 'docs/guides/recipes.md#nextjs-nuxt-monorepos'

/** The scheduler and its version, and the lines to write. `needs`: what they import beside this package and the scheduler. */
export type Usage = readonly [scheduler: string, step: Step, needs?: string]

/** Whether a member of a workspace schedules jobs. */
export function hasJobs(member: Project): boolean {
  const names = ['@nestjs/core', ...Object.keys(SCHEDULERS)]
  return names.some((name) => member.declares(name)) || cronOf(member) !== undefined
}

/** The lines that are left to write: the provider, one job, and the shutdown. */
export function usage(project: Project, plan: Plan, names: LockTableOptions): Usage {
  const cron = cronOf(project)
  if (project.has('@nestjs/core')) return nest(project, plan, names)
  if (cron) return route(project, plan, names, cron)
  const name = (Object.keys(SCHEDULERS) as SchedulerName[]).find((each) => project.has(each))
  const version = name === undefined ? '' : project.version(name)
  const known = name === undefined ? DOCS : SCHEDULERS[name]
  const isKnown = typeof known !== 'string' && Number.parseInt(version, 10) >= known[0]
  const [, imported, slot, start, stop] = isKnown ? known : NO_SCHEDULER
  const pages = [
    ...(isKnown ? [] : [typeof known === 'string' ? known : DOCS]),
    ...(FRAMEWORKS.some((each) => project.has(each)) ? [FRAMEWORK_DOCS] : []),
  ]
  const see = pages.length === 0 ? '' : ` (see ${pages.join(', ')} in the repository)`
  const calls = [stop, 'await executor.shutdown()', plan.client.close && `await ${plan.client.close}`].filter(
    Boolean,
  )
  const code = `${imported === '' ? '' : `import { ${imported} } from '${name}'\n`}${importsOf(project, plan, slot)}

const executor = new LockingTaskExecutor(${providerOf(plan, names)})
const send = executor.wrap(
  { name: 'report', lockAtMostFor: '14m', ${slot}, onError: console.error },
  () => console.log('sending the report'), // your job
)
${start.startsWith('//') ? '' : 'const job = '}${start}

const end = async () => {
  ${calls.join('\n  ')}
}
let ended: Promise<void> | undefined
// Not once: npm and watchers send a second signal, which must not interrupt the shutdown.
process.on('SIGTERM', () => (ended ??= end()))
`
  const scheduler = name === undefined ? 'no scheduler' : `${name} ${version}`
  return [scheduler, [`Lock each job that one instance is to run${see}`, inLanguageOf(project, code)]]
}

const NO_SCHEDULER: Scheduler = [0, '', "lockAtLeastFor: '1m'", '// let your scheduler call send()', '']

/** The first job that Vercel calls by HTTP. */
function cronOf(member: Project): { readonly path: string; readonly schedule: string } | undefined {
  try {
    return (JSON.parse(member.read('vercel.json')) as { crons?: { path: string; schedule: string }[] })
      .crons?.[0]
  } catch {
    return undefined
  }
}

function route(
  project: Project,
  plan: Plan,
  names: LockTableOptions,
  { path, schedule }: { readonly path: string; readonly schedule: string },
): Usage {
  const code = `import { Cron } from 'croner'
${importsOf(project, plan, 'slotOf')}

const executor = new LockingTaskExecutor(${providerOf(plan, names)})
const due = new Cron('${schedule}', { timezone: 'UTC', paused: true }) // as in vercel.json

export async function GET() {
  const { executed } = await executor.executeWithLock(
    { name: '${path}', lockAtMostFor: '16m', slot: slotOf(due) },
    () => console.log('sending the report'), // your job
  )
  return Response.json({ executed })
}
`
  const what = `Lock each route that Vercel, which may call it twice, is to run once, such as ${path}`
  return ['the crons of vercel.json', [what, code], 'croner']
}

function nest(project: Project, plan: Plan, names: LockTableOptions): Usage {
  const hasSchedule = project.has('@nestjs/schedule')
  const [name, entry] = plan.provider
  const options = literal(names)
  const [cronImport, cronOption, decorators] = hasSchedule
    ? [
        "import { CronTime } from 'cron'\n",
        ', cronTime: CronTime',
        `@Cron(${CRON})\n  @SchedulerLock({ name: 'report', lockAtMostFor: '14m' })`,
      ]
    : ['', '', "@SchedulerLock({ name: 'report', lockAtMostFor: '14m', lockAtLeastFor: '1m' })"]
  const code = `${cronImport}import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { ${name} } from 'shedlock-orm/${entry}'

// in the imports of the root module
ShedLockModule.forRoot({ lockProvider: ${options === '' ? name : `(client) => ${name}(client, ${options})`}${cronOption} })

// on each job
class Reports {
  ${decorators}
  async send() {}
}

// where the app starts
app.enableShutdownHooks()
`
  const what = 'Import the module, and lock each job that one instance is to run'
  if (!hasSchedule) return ['NestJS', [what, code]]
  const cron = `cron${project.versionFor('@nestjs/schedule', 'cron')}`
  return [`@nestjs/schedule ${project.version('@nestjs/schedule')}`, [what, code], cron]
}

function importsOf(project: Project, { provider: [name, entry], client }: Plan, slot: string): string {
  const { file = '' } = client
  // As a file beside that of the client imports it.
  const isBeside = project.short(join(project.root, file)) === file && file !== ''
  const extension = project.manifest.type === 'module' ? '.js' : ''
  return `import { LockingTaskExecutor${slot.includes('slotOf') ? ', slotOf' : ''} } from 'shedlock-orm'
import { ${name} } from 'shedlock-orm/${entry}'
${isBeside ? `import { ${client.name} } from './${basename(file, extname(file))}${extension}' // in ${dirname(file)}` : `// and ${client.name}, your client`}`
}

function providerOf({ provider: [name], client }: Plan, names: LockTableOptions): string {
  return `${name}(${[client.name, literal(names)].filter(Boolean).join(', ')})`
}

/** As JavaScript without types, if the project has no TypeScript; with `require`, unless its files are ES modules. */
function inLanguageOf(project: Project, code: string): string {
  if (project.has('typescript') || project.files('.ts', '.mts').length > 0) return code
  const plain = code.replace(/: (Cron|Date|CronJob|Promise<void> \| undefined)\b/g, '')
  const isModule = project.manifest.type === 'module' || project.files('.mjs').length > 0
  return isModule ? plain : plain.replace(/^import (\{[^}]*\}) from ('[^']*')/gm, 'const $1 = require($2)')
}
