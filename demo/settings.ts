/** What the demo tells each of its processes. */
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
  /** Short, so that the takeover after the kill is seen. A real job takes a value well above its longest run. */
  lockAtMostFor: '2500ms',
  /** Most of the second: an instance whose timer comes late must not run the same tick again. */
  lockAtLeastFor: '750ms',
} as const

export const RUN_TIME = 300
/** Of a scheduler that woke up this late, the tick is history: what runs then would run into the next tick. */
export const TOO_LATE = 500

/** Settings travel in the environment: a URL with a password has no place on a command line that `ps` shows. */
const VARIABLE = 'SHEDLOCK_DEMO'

export function toEnvironment(settings: Settings): NodeJS.ProcessEnv {
  return { ...process.env, [VARIABLE]: JSON.stringify(settings) }
}

export function fromEnvironment(): Settings {
  return JSON.parse(process.env[VARIABLE] ?? '{}') as Settings
}
