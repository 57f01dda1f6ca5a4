import {
  describeSkip,
  errorName,
  formatDuration,
  inTime,
  LockError,
  runNow,
  type KnownJob,
} from '../core/internal'
import { displayedOwner, holder, whyStuck, type LockRecord, type SqlLockProvider } from '../sql/internal'
import { page, plainText } from './answer'
import { failureOf } from './locks'
import { lastRun, link, lockedAt, markup, rowId, until, type Markup, type Part } from './markup'

/** The text above the button. */
const ACTIONS = {
  run: 'The job runs now, in this app, under its lock. If it is running elsewhere, it does not run twice.',
  pause: 'Every instance skips the job until the pause is over, Java services too.',
  resume: 'A resume repeats no run: the job runs again when it is due next.',
  release:
    'A release stops no run, and repeats none: if this one goes on, another instance may run the job beside it.',
} as const

export type Action = keyof typeof ACTIONS

/** What a visitor wants to do, and the lock as the visitor saw it. */
export interface ActionRequest {
  readonly provider: SqlLockProvider
  /** The name of the provider. */
  readonly source: string
  readonly title: string | undefined
  readonly place: string
  readonly action: Action
  readonly name: string
  readonly job: KnownJob
  /** The visitor's name. */
  readonly user: string | undefined
  /** Who held the lock; empty if it was free. */
  readonly owner: string
  /** When its lease was to end; empty if it was free. */
  readonly until: string
}

export function isAction(text: string): text is Action {
  return Object.hasOwn(ACTIONS, text)
}

/** Returns the actions that the lock's state permits. @param lock `undefined` if it was never acquired */
export function actionsFor(lock: LockRecord | undefined, canRun: boolean): Action[] {
  if (lock?.held) return [lock.paused ? 'resume' : 'release']
  return canRun ? ['run', 'pause'] : ['pause']
}

/** Marks a release in red where it is the next step, but not where a run goes on. */
export function danger(lock: LockRecord | undefined): Part {
  return lock && whyStuck(lock) !== undefined && markup` class="danger"`
}

/** The state of the lock, as an action's URL contains it. */
export function seen(lock: LockRecord | undefined): Pick<ActionRequest, 'owner' | 'until'> {
  return lock?.held ? { owner: lock.lockedBy, until: lock.lockUntil.toISOString() } : { owner: '', until: '' }
}

/** Whether the lock is still as the visitor saw it. */
function isUnchanged({ action, job, owner, until }: ActionRequest, lock: LockRecord | undefined): boolean {
  const now = seen(lock)
  return (
    actionsFor(lock, job.run !== undefined).includes(action) && owner === now.owner && until === now.until
  )
}

/** Reads the whole table, because some databases reject a wrong name as a value, such as PostgreSQL a NUL. */
async function readLock({ provider, name }: ActionRequest): Promise<LockRecord | undefined> {
  return (await provider.table.list()).find((lock) => lock.name === name)
}

/**
 * Performs the action and redirects to the row of the job. If nothing was done, says why.
 *
 * @param fields `undefined`: only shows the form that confirms the action
 */
export async function act(request: ActionRequest, fields?: URLSearchParams): Promise<Response> {
  const { action, job } = request
  if (action === 'run' && !job.run)
    return notDone(request, 409, 'This app cannot run the job: the jobs of the page have no run for it.')
  const lock = await readLock(request)
  if (!isUnchanged(request, lock)) return changed(request, lock)
  if (!fields) return actionPage(request, { lock, form: new URLSearchParams({ for: '1h' }) })
  if (action === 'run') return run(request, fields)
  try {
    if (await perform(request, lock, fields)) return done(request)
  } catch (error) {
    if (error instanceof LockError && error.code === 'INVALID_CONFIGURATION')
      return actionPage(request, { status: 400, why: WRONG_PAUSE, lock, form: fields })
    const { code, message } = failureOf(error)
    // The database may have done it, and only its answer was lost.
    return notDone(request, 503, `${code}: ${message}`, 'It is not known whether this was done.')
  }
  return changed(request, await readLock(request))
}

/** The lock may have changed since it was read, so the write compares its state again. */
function perform(
  { provider, action, name, user }: ActionRequest,
  lock: LockRecord | undefined,
  fields: URLSearchParams,
): Promise<boolean> {
  const [duration, reason] = [fields.get('for') ?? '', fields.get('reason') ?? '']
  if (!lock?.held) return provider.table.pause(name, { duration, reason, pausedBy: user })
  return action === 'resume' ? provider.table.resume(lock) : provider.table.release(lock)
}

/** How long a visitor waits for the end of a run, in milliseconds. It goes on afterwards, and its row says how it ended. */
const ANSWERED_WITHIN = 3_000

function done({ name, source }: ActionRequest): Response {
  return plainText(303, 'Done.', { location: `?#${encodeURIComponent(rowId(source, name))}` })
}

/** Runs the job in this process. What it throws goes to the app's log: its message may contain secrets. */
async function run(request: ActionRequest, fields: URLSearchParams): Promise<Response> {
  const { name, job, user } = request
  const reason = fields.get('reason')?.trim() ?? ''
  if (!/^[^\p{Cc}]{1,120}$/u.test(reason))
    return actionPage(request, { status: 400, why: WRONG_REASON, form: fields })
  const running = runNow(() => job.run?.({ user, reason })).then(
    (result) =>
      result.executed
        ? done(request)
        : notDone(request, 409, `The job did not run: lock '${name}' ${describeSkip(result)}.`),
    (error: unknown) => {
      const { code, message } = failureOf(error)
      const what = error instanceof LockError ? `${code}:` : `it threw ${errorName(error)}.`
      return notDone(request, 500, `${what} ${message}`, 'The run failed:')
    },
  )
  return inTime(running, ANSWERED_WITHIN, () => new Error('late')).catch(() => done(request))
}

/** In the words of the form, whose fields are not named as the options of `pause`. */
const WRONG_PAUSE =
  'Say how long the pause lasts, such as 30m, 8h or 2d, at most a hundred years; and give a reason, in one line of at most 120 characters.'
const WRONG_REASON = 'Give a reason, in one line of at most 120 characters.'

function changed(request: ActionRequest, lock: LockRecord | undefined): Response {
  return actionPage(request, { status: 409, why: 'The lock has changed since you looked.', lock })
}

/** Says why nothing was done, or `what` else is known. */
export function notDone(request: ActionRequest, status: number, why: string, what?: string): Response {
  return actionPage(request, { status, why, what })
}

/** What the page of an action shows. */
interface ActionPage {
  readonly status?: number
  /** Why nothing was done. */
  readonly why?: string
  readonly what?: string | undefined
  readonly lock?: LockRecord | undefined
  /** What was typed into the form. */
  readonly form?: URLSearchParams
}

function actionPage(request: ActionRequest, shown: ActionPage): Response {
  const { status = 200, why, what = 'Not done.', lock, form: typed } = shown
  const { title, place, action, name } = request
  const main = markup`${why && markup`<div class="alert" role="alert"><strong>${what}</strong> ${why}</div>`}
${lock && details(lock)}${typed && form(request, lock, typed)}
<p><a href="${link({})}">All jobs</a></p>`
  return page({ status, title, places: [place], heading: `${action} ${name}`, main })
}

function details(lock: LockRecord): Markup {
  const { held, paused, lastRun: last } = lock
  const owner = displayedOwner(lock)
  const process = holder(lock)
  return markup`<dl>${owner && markup`<dt>${paused ? 'Pause' : held ? 'Owner' : 'Last owner'}</dt><dd>${owner}</dd>`}${process && markup`<dt>Its process</dt><dd>${process}</dd>`}
${last && markup`<dt>Last run</dt><dd>${lastRun(last)}</dd>`}<dt>Locked at</dt><dd>${lockedAt(lock)}</dd>${held && markup`<dt>Until</dt><dd>${until(lock)}</dd>`}</dl>
${process && whyStuck(lock) === undefined && markup`<p>If you wait, the lock ends by itself in ${formatDuration(lock.lockUntil.getTime() - lock.now.getTime())}, unless its run extends it.</p>`}`
}

function form({ action, user }: ActionRequest, lock: LockRecord | undefined, typed: URLSearchParams): Markup {
  const duration = markup`<label>For how long, such as 30m, 8h or 2d<input name="for" value="${typed.get('for') ?? ''}" required pattern="[0-9]+[smhd]" title="A whole number and a unit: 30m, 8h or 2d"></label>`
  const reason = markup`<label>Reason, for others who wonder why it ${action === 'run' ? 'runs now' : 'does not run'}<input name="reason" value="${typed.get('reason') ?? ''}" required maxlength="120"></label>`
  return markup`<p>${ACTIONS[action]}</p>
<form method="post">${action === 'pause' && duration}${(action === 'pause' || action === 'run') && reason}<button${action === 'release' && danger(lock)}>${action}</button>${user !== undefined && markup`<small>As ${user}</small>`}</form>`
}
