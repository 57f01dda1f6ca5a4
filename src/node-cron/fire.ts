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
