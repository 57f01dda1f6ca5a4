import { LockError } from '../core'

/** One time at which a task is due. It is the same on every instance, whatever its clock says when it gets there. */
export interface Fire {
  readonly task: string
  /** Milliseconds since 1970. */
  readonly due: number
}

const DUE_LENGTH = '2026-11-20T20:44:53.000Z'.length

/** Reads node-cron's key, `name:due`. The name may have colons of its own. */
export function fireOf(key: string): Fire {
  const task = key.slice(0, -DUE_LENGTH - 1)
  const due = Date.parse(key.slice(-DUE_LENGTH))
  if (task !== '' && Number.isFinite(due)) return { task, due }
  throw new LockError(
    'INVALID_CONFIGURATION',
    `'${key}' is not node-cron's 'name:2026-11-20T20:44:53.000Z' – use node-cron 4.4 or later, and name the task.`,
  )
}

/**
 * The lock that stands for a fire while it is remembered. One for each fire would fill the table, and one for the task
 * could not tell who is late for this fire from who is early for the next. So the names go round, and come back after
 * twice the time: by then nobody is late for the earlier fire any more.
 */
export function fireLockName({ task, due }: Fire, rememberFor: number): string {
  const names = 2 * Math.ceil(rememberFor / 1_000)
  return `${task}#${Math.floor(due / 1_000) % names}`
}
