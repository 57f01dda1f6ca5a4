/** The settings that the demo passes to each of its processes. */
export interface Settings {
  /** The process's name in the timeline. */
  readonly process: string
  readonly orm: Orm
  readonly url: string
  readonly lockTable: string
  readonly eventTable: string
}

export const ORMS = ['typeorm', 'prisma'] as const
export type Orm = (typeof ORMS)[number]

export const JOB = {
  name: 'demo-job',
  /** Short, so that the takeover after the kill is visible. A real job needs a value well above its longest run. */
  lockAtMostFor: '2500ms',
  /** Most of a second, so that an instance whose timer fires late does not run the same tick again. */
  lockAtLeastFor: '750ms',
} as const

export const RUN_TIME = 300
/** A scheduler that wakes up this late skips the tick, because the run would last into the next one. */
export const TOO_LATE = 500

/** Settings are passed in the environment, because `ps` would show a URL with a password on a command line. */
const VARIABLE = 'SHEDLOCK_DEMO'

export function toEnvironment(settings: Settings): NodeJS.ProcessEnv {
  return { ...process.env, [VARIABLE]: JSON.stringify(settings) }
}

export function fromEnvironment(): Settings {
  return JSON.parse(process.env[VARIABLE] ?? '{}') as Settings
}
