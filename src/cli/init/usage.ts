import type { Project } from '../project'
import type { Plan } from './plan'

/** How one scheduler calls a job, in code. */
interface Scheduler {
  readonly imports: string
  /** The job's slot: `slotOf` of what the scheduler passes; or the parameter that it passes, its type, and the slot. */
  readonly slot?: 'slotOf' | readonly [parameter: string, type: string, slot: string]
  readonly start: string
  /** Stops it at a shutdown. */
  readonly stop: string
}

const CRON = "'*/15 * * * *'"

/** The schedulers in the order in which they are looked for, each as its version needs. */
const SCHEDULERS = {
  'node-cron': (major) => ({
    imports: "import { schedule } from 'node-cron'",
    // Not its `date`: when execute() starts a run, that is the current time, another on each instance. Version 3 passes when it fires.
    ...(major >= 4 && { slot: 'slotOf' }),
    ...(major === 3 && { slot: ['now', 'Date | string', 'Math.floor(Number(now) / 1_000) * 1_000'] }),
    start: `const job = schedule(${CRON}, send)`,
    stop: major < 4 ? 'job.stop()' : 'await job.destroy()',
  }),
  croner: (major) => ({
    imports: "import { Cron } from 'croner'",
    ...(major >= 6 && { slot: ['job', 'Cron', 'slotOf(job)'] }),
    start: `const job = new Cron(${CRON}, send)`,
    stop: 'job.stop()',
  }),
  'node-schedule': () => ({
    imports: "import { scheduleJob } from 'node-schedule'",
    slot: ['due', 'Date', 'due'],
    start: `const job = scheduleJob(${CRON}, send)`,
    stop: 'job.cancel()',
  }),
  cron: (major) => ({
    imports: "import { CronJob } from 'cron'",
    ...(major >= 4 && { slot: ['job', 'CronJob', 'slotOf(job.cronTime)'] }),
    start:
      major >= 4
        ? `const job = CronJob.from({\n  cronTime: ${CRON},\n  start: true,\n  onTick() {\n    return send(this)\n  },\n})`
        : `const job = new CronJob(${CRON}, send, null, true)`,
    stop: 'job.stop()',
  }),
  'toad-scheduler': () => ({
    imports: "import { AsyncTask, SimpleIntervalJob, ToadScheduler } from 'toad-scheduler'",
    start:
      "const scheduler = new ToadScheduler()\nscheduler.addSimpleIntervalJob(new SimpleIntervalJob({ minutes: 15 }, new AsyncTask('report', send)))",
    stop: 'scheduler.stop()',
  }),
} satisfies Readonly<Record<string, (major: number) => Scheduler>>

/** Every scheduler of which a project is shown how to use it. The compiler and test/registries.test.ts name the places of each. */
export type SchedulerName = keyof typeof SCHEDULERS | 'bree' | '@nestjs/schedule'

const NO_SCHEDULER: Scheduler = {
  imports: '',
  start: 'const timer = setInterval(send, 15 * 60_000)',
  stop: 'clearInterval(timer)',
}

export interface Usage {
  /** The scheduler and its version. */
  readonly scheduler: string | undefined
  readonly what: string
  /** TypeScript, or JavaScript in a project without TypeScript. */
  readonly code: string
}

/** Whether a package.json says how the app schedules its jobs. */
export function hasScheduler(project: Project): boolean {
  return ['@nestjs/core', 'bree', ...Object.keys(SCHEDULERS)].some((name) => project.has(name))
}

/** The lines that are left to write: the provider, one job, and the shutdown. */
export function usage(project: Project, plan: Plan): Usage {
  if (project.has('@nestjs/core')) return nest(project, plan)
  if (project.has('bree')) return worker(project, plan)
  const names = Object.keys(SCHEDULERS) as (keyof typeof SCHEDULERS)[]
  const name = names.find((each) => project.has(each))
  const version = name === undefined ? '' : project.version(name)
  const scheduler = name === undefined ? NO_SCHEDULER : SCHEDULERS[name](Number.parseInt(version, 10))
  const isTyped = isTypeScript(project)
  const { imports, slot, start, stop }: Scheduler = scheduler
  const due = slot && slotLine(slot, isTyped)
  const code = `${imports}
import { LockingTaskExecutor${due?.includes('slotOf') ? ', slotOf' : ''} } from 'shedlock-orm'
${importOf(plan)}

${executorOf(plan)}
const send = executor.wrap(
  {
    name: 'report',
    lockAtMostFor: '14m',
    ${due ?? "lockAtLeastFor: '1m'"},
    onError: console.error,
  },
  () => sendReport(),
)
${start}

process.once('SIGTERM', async () => {
  ${stop}
  await executor.shutdown()${closing(plan, '  ')}
})
`
  return {
    scheduler: name && `${name} ${version}`.trim(),
    what: 'Lock each job that one instance is to run, and release its lock at a shutdown, where you start the jobs; what a job catches itself is no failure:',
    code: code.trimStart(),
  }
}

function slotLine(slot: NonNullable<Scheduler['slot']>, isTyped: boolean): string {
  if (slot === 'slotOf') return 'slot: slotOf'
  const [parameter, type, value] = slot
  return `slot: (${parameter}${isTyped ? `: ${type}` : ''}) => ${value}`
}

function nest(project: Project, plan: Plan): Usage {
  const hasSchedule = project.has('@nestjs/schedule')
  const { name } = plan.provider
  const code = `${hasSchedule ? "import { CronTime } from 'cron'\n" : ''}import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
${importOf(plan)}

// in the imports of the root module
ShedLockModule.forRoot({ lockProvider: ${name}${hasSchedule ? ', cronTime: CronTime' : ''} })

// on each job
class Reports {
  ${hasSchedule ? `@Cron(${CRON})\n  ` : ''}@SchedulerLock({ name: 'report', lockAtMostFor: '14m'${hasSchedule ? '' : ", lockAtLeastFor: '1m'"} })
  async send()${isTypeScript(project) ? ': Promise<void>' : ''} {}
}

// where the app starts
app.enableShutdownHooks()
`
  return {
    scheduler: hasSchedule ? `@nestjs/schedule ${project.version('@nestjs/schedule')}` : undefined,
    what: 'Import the module, and lock each job that one instance is to run; what a job catches itself is no failure:',
    code,
  }
}

/** Bree runs each job in a worker, which has a client of its own. */
function worker(project: Project, plan: Plan): Usage {
  const code = `import { LockingTaskExecutor } from 'shedlock-orm'
${importOf(plan)}

${executorOf(plan)}
await executor.executeWithLock(
  { name: 'report', lockAtMostFor: '14m', lockAtLeastFor: '1m' },
  ({ signal }) => sendReport(signal),
)
await executor.shutdown()${closing(plan)}
`
  return {
    scheduler: `bree ${project.version('bree')}`,
    what: 'Lock each job that one instance is to run, in its worker; what a job catches itself is no failure:',
    code,
  }
}

function closing({ close }: Plan, indentation = ''): string {
  return close === undefined ? '' : `\n${indentation}await ${close}`
}

function importOf({ provider: { name, entry } }: Plan): string {
  return `import { ${name} } from 'shedlock-orm/${entry}'`
}

function executorOf({ provider: { name, client } }: Plan): string {
  return `const executor = new LockingTaskExecutor(${name}(${client}))`
}

function isTypeScript(project: Project): boolean {
  return project.has('typescript') || project.exists('tsconfig.json')
}
