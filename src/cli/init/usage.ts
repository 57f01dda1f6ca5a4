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
  cron: (major, isTyped, minor) => {
    const hasSlots = major > 2 || (major === 2 && minor >= 3)
    const onTick = hasSlots ? `function (${isTyped ? 'this: CronJob' : ''}) { return send(this) }` : 'send'
    return {
      imports: "import { CronJob } from 'cron'",
      ...(hasSlots && { slot: ['job', 'CronJob', 'slotOf(job.cronTime)'] }),
      start:
        major >= 4
          ? `const job = CronJob.from({\n  cronTime: ${CRON},\n  start: true,\n  onTick() {\n    return send(this)\n  },\n})`
          : `const job = new CronJob(${CRON}, ${onTick}, null, true)`,
      stop: 'job.stop()',
    }
  },
  'toad-scheduler': () => ({
    imports: "import { AsyncTask, SimpleIntervalJob, ToadScheduler } from 'toad-scheduler'",
    start:
      "const scheduler = new ToadScheduler()\nscheduler.addSimpleIntervalJob(new SimpleIntervalJob({ minutes: 15 }, new AsyncTask('report', send)))",
    stop: 'scheduler.stop()',
  }),
} satisfies Readonly<Record<string, (major: number, isTyped: boolean, minor: number) => Scheduler>>

/** Every scheduler of which a project is shown how to use it. The compiler and test/registries.test.ts name the places of each. */
export type SchedulerName = keyof typeof SCHEDULERS | 'bree' | '@nestjs/schedule'

const NO_SCHEDULER: Scheduler = {
  imports: '',
  start: 'const timer = setInterval(send, 15 * 60_000)',
  stop: 'clearInterval(timer)',
}

/** For a job without a slot. */
const AT_LEAST = "lockAtLeastFor: '1m', // less than the interval"

export interface Usage {
  /** The scheduler and its version. */
  readonly scheduler: string | undefined
  readonly what: string
  /** TypeScript, or JavaScript in a project without TypeScript. */
  readonly code: string
  /** The packages that the code imports, beside this one and that of the scheduler. */
  readonly needs: readonly string[]
}

/** Whether a package.json says how the app schedules its jobs. */
export function hasScheduler(project: Project): boolean {
  return ['@nestjs/core', 'bree', ...Object.keys(SCHEDULERS)].some((name) => project.has(name))
}

/** The lines that are left to write: the provider, one job, and the shutdown. */
export function usage(project: Project, plan: Plan): Usage {
  if (project.has('@nestjs/core')) return nest(project, plan)
  if (project.has('bree')) return worker(project, plan)
  const framework = frameworkOf(project)
  const names = Object.keys(SCHEDULERS) as (keyof typeof SCHEDULERS)[]
  const name = names.find((each) => project.has(each))
  const version = name === undefined ? '' : project.version(name)
  const isTyped = isTypeScript(project)
  const [major = NaN, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  // Nitro has croner for its tasks.
  const runsTasks = framework === 'nitro' && (name === undefined || name === 'croner')
  const { imports, slot, start, stop }: Scheduler = runsTasks
    ? NITRO_TASK
    : name === undefined
      ? NO_SCHEDULER
      : SCHEDULERS[name](major, isTyped, minor)
  const due = slot && slotLine(slot, isTyped)
  const usesSlotOf = `${due} ${start}`.includes('slotOf')
  const code = `${imports}
import { LockingTaskExecutor${usesSlotOf ? ', slotOf' : ''} } from 'shedlock-orm'
${importOf(plan)}

${framework === 'next' ? sharedExecutorOf(plan, isTyped) : `${runsTasks ? '// utils/shedlock.ts\nexport ' : ''}${executorOf(plan)}`}
${runsTasks ? 'export ' : ''}const send = executor.wrap(
  {
    name: 'report',
    lockAtMostFor: '14m',
    ${due === undefined ? AT_LEAST : `${due},`}
    onError: console.error,
  },
  () => sendReport(),
)
${start}

${shutdownIn(framework, [stop, 'await executor.shutdown()', ...(plan.close === undefined ? [] : [`await ${plan.close}`])])}`
  return {
    scheduler: runsTasks ? "Nitro's tasks" : name && `${name} ${version}`.trim(),
    what: `Lock each job that one instance is to run, and release its lock at a shutdown, ${WHERE[framework ?? 'none']}; what a job catches itself is no failure:`,
    code: code.trimStart(),
    needs: runsTasks ? ['croner'] : [],
  }
}

type Framework = 'next' | 'nitro' | undefined

/** A framework that has its own signal handlers. */
function frameworkOf(project: Project): Framework {
  if (project.has('nuxt') || project.has('nitropack')) return 'nitro'
  return project.has('next') ? 'next' : undefined
}

const WHERE = {
  none: 'where you start the jobs',
  next: 'in a file that `register()` of instrumentation.ts imports, if `process.env.NEXT_RUNTIME` is `nodejs`',
  nitro: 'in the folder of the server',
}

/** Nitro passes a task no due time. */
const NITRO_TASK: Scheduler = {
  imports: "import { Cron } from 'croner'",
  slot: ['due', 'Date', 'due'],
  start: `
// tasks/report.ts, with the same expression in scheduledTasks
export default defineTask({
  meta: { name: 'report' },
  async run() {
    await send(slotOf(new Cron(${CRON}, { paused: true })))
    return {}
  },
})`,
  stop: '',
}

/** npm and watchers send two signals. */
const SECOND_SIGNAL = "process.on('SIGTERM', () => {}) // a second signal must not end the shutdown\n"

function shutdownIn(framework: Framework, calls: readonly string[]): string {
  const lines = (...more: string[]): string =>
    [...calls, ...more]
      .filter((call) => call !== '')
      .map((call) => `  ${call}\n`)
      .join('')
  if (framework === 'nitro')
    return `// in a file in plugins: defineNitroPlugin((nitroApp) => …)\nnitroApp.hooks.hook('close', async () => {\n${lines()}})\n`
  if (framework === 'next')
    return `// start with NEXT_MANUAL_SIG_HANDLE=1, or next start exits first\nprocess.once('SIGTERM', async () => {\n${lines('process.exit(0)')}})\n${SECOND_SIGNAL}`
  return `process.once('SIGTERM', async () => {\n${lines()}})\n${SECOND_SIGNAL}`
}

/** Next.js loads a file once for instrumentation.ts, and again for its routes. */
function sharedExecutorOf(plan: Plan, isTyped: boolean): string {
  const shared = isTyped ? 'shared' : 'globalThis'
  return `// Next.js loads this file twice in a process: share the executor, and the client in the same way
${isTyped ? 'const shared = globalThis as { executor?: LockingTaskExecutor }\n' : ''}const executor = (${shared}.executor ??= ${newExecutor(plan)})`
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
  ${
    hasSchedule
      ? `@Cron(${CRON})\n  @SchedulerLock({ name: 'report', lockAtMostFor: '14m' })`
      : `@SchedulerLock({\n    name: 'report',\n    lockAtMostFor: '14m',\n    ${AT_LEAST}\n  })`
  }
  async send()${isTypeScript(project) ? ': Promise<void>' : ''} {}
}

// where the app starts
app.enableShutdownHooks()
`
  return {
    scheduler: hasSchedule ? `@nestjs/schedule ${project.version('@nestjs/schedule')}` : undefined,
    what: 'Import the module, and lock each job that one instance is to run; what a job catches itself is no failure:',
    code,
    needs: hasSchedule ? ['cron'] : [],
  }
}

/** Bree runs each job in a worker, which has a client of its own. */
function worker(project: Project, plan: Plan): Usage {
  const isTyped = isTypeScript(project)
  const head = `import { parentPort, workerData } from 'node:worker_threads'
import { Cron } from 'croner'
import { LockingTaskExecutor, slotOf } from 'shedlock-orm'
${importOf(plan)}
`
  const body = `// of a job with cron; one with interval has lockAtLeastFor, less than that, and no slot
const { cron, timezone } = ${isTyped ? '(workerData as { job: { cron: string; timezone: string } })' : 'workerData'}.job
const slot = slotOf(new Cron(cron, { timezone, paused: true }))
${executorOf(plan)}
parentPort?.on('message', async (message) => {
  if (message !== 'cancel') return
  await executor.shutdown()
  parentPort?.postMessage('cancelled')
})
parentPort?.unref() // or the worker never ends
await executor.executeWithLock(
  { name: 'report', lockAtMostFor: '14m', slot },
  ({ signal }) => sendReport(signal),
)
await executor.shutdown()${plan.close === undefined ? '' : `\nawait ${plan.close}`}
`
  return {
    scheduler: `bree ${project.version('bree')}`,
    what: 'Lock each job that one instance is to run, in its worker; what a job catches itself is no failure:',
    code: usesRequire(project)
      ? `${head}\nasync function main() {\n${body.replace(/^(?=.)/gm, '  ')}}\n\nmain()\n`
      : `${head}\n${body}`,
    needs: ['croner'],
  }
}

function importOf({ provider: { name, entry } }: Plan): string {
  return `import { ${name} } from 'shedlock-orm/${entry}'`
}

function newExecutor({ provider: { name, client } }: Plan): string {
  return `new LockingTaskExecutor(${name}(${client}))`
}

function executorOf(plan: Plan): string {
  return `const executor = ${newExecutor(plan)}`
}

function isTypeScript(project: Project): boolean {
  return project.has('typescript') || project.exists('tsconfig.json')
}

/** Whether the project's own files are JavaScript that loads modules with `require`. */
export function usesRequire(project: Project): boolean {
  if (isTypeScript(project) || project.manifest.type === 'module' || frameworkOf(project) !== undefined)
    return false
  if (project.files('.ts', '.mts', '.cts').length > 0) return false
  const texts = project.files('.js', '.cjs').map((file) => project.read(file))
  const imports = texts.filter((text) => /^import\b[^;]*?['"]/m.test(text))
  return imports.length <= texts.filter((text) => /\brequire\(/.test(text)).length
}
