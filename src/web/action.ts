import { parseLockName, LockError } from '../core/internal'
import { displayedOwner, type LockRecord, type SqlLockProvider } from '../sql/internal'
import { page, plainText, type Subject } from './answer'
import { link, lockedAt, markup, until, type Markup } from './markup'

/** The text above the button. */
const ACTIONS = {
  pause:
    'Every instance skips the job until the pause is over, Java services too. A run in progress goes on.',
  resume: 'The job runs again when it is due next.',
  release:
    'Release the lock only if this owner is gone. An owner that is alive is not stopped, and another instance may run the job at the same time.',
} as const

type Action = keyof typeof ACTIONS

/** What a visitor wants to do, and the lock as the visitor saw it. */
export interface ActionRequest {
  readonly provider: SqlLockProvider
  readonly subject: Subject
  readonly action: Action
  readonly name: string
  /** Who held the lock; empty if it was free. */
  readonly owner: string
  /** When its lease was to end; empty if it was free. */
  readonly until: string
}

export function isAction(text: string): text is Action {
  return Object.hasOwn(ACTIONS, text)
}

/** Returns the only action that the lock's state permits. @param lock `undefined` if it was never acquired */
export function actionFor(lock: LockRecord | undefined): Action {
  if (!lock?.held) return 'pause'
  return lock.paused ? 'resume' : 'release'
}

/** The state of the lock, as an action's URL contains it. */
export function seen(lock: LockRecord | undefined): Pick<ActionRequest, 'owner' | 'until'> {
  return lock?.held ? { owner: lock.lockedBy, until: lock.lockUntil.toISOString() } : { owner: '', until: '' }
}

/** Whether the lock is still as the visitor saw it. */
function isUnchanged({ action, owner, until }: ActionRequest, lock: LockRecord | undefined): boolean {
  const now = seen(lock)
  return action === actionFor(lock) && owner === now.owner && until === now.until
}

/** @returns a response if there can be no such lock */
async function readLock({ provider, name }: ActionRequest): Promise<LockRecord | undefined | Response> {
  if (isLockName(name)) return provider.table.find(name)
  // Some databases reject such a name as a value, such as PostgreSQL a NUL. In others, another program may have written a row with it.
  const lock = (await provider.table.list()).find((each) => each.name === name)
  return lock ?? plainText(404, 'There is no such lock.')
}

function isLockName(name: string): boolean {
  try {
    return parseLockName(name) === name
  } catch {
    return false
  }
}

/** Shows the form that confirms the action. */
export async function confirm(request: ActionRequest): Promise<Response> {
  const lock = await readLock(request)
  return lock instanceof Response ? lock : confirmation(request, lock)
}

/** Performs the action and redirects to the lock. If nothing was done, shows the form again with the reason. */
export async function act(
  request: ActionRequest,
  fields: URLSearchParams,
  user: string | undefined,
): Promise<Response> {
  const lock = await readLock(request)
  if (lock instanceof Response) return lock
  if (!isUnchanged(request, lock)) return confirmation(request, lock)
  try {
    if (await perform(request, lock, fields, user)) {
      const { action, name } = request
      return plainText(303, 'Done.', { location: link({ q: name }), ...doneCookie(action, name) })
    }
  } catch (error) {
    if (!(error instanceof LockError) || error.code !== 'INVALID_CONFIGURATION') throw error
    return confirmation(request, lock, WRONG_PAUSE, fields)
  }
  const changed = await readLock(request)
  return changed instanceof Response ? changed : confirmation(request, changed, CHANGED)
}

/** The lock may have changed since it was read, so the write compares its state again. */
function perform(
  { provider, action, name }: ActionRequest,
  lock: LockRecord | undefined,
  fields: URLSearchParams,
  user: string | undefined,
): Promise<boolean> {
  if (!lock?.held) return provider.table.pause(name, { ...pauseOf(fields), pausedBy: user })
  return action === 'resume' ? provider.table.resume(lock) : provider.table.release(lock)
}

const CHANGED = { status: 409, why: 'The lock has changed since you looked.' }
/** In the words of the form, whose fields are not named as the options of `pause`. */
const WRONG_PAUSE = {
  status: 400,
  why: 'Say how long the pause lasts, such as 30m, 8h or 2d, at most a hundred years; and give a reason, in one line of at most 120 characters.',
}

/**
 * @param refusal why the form was refused; a changed lock is always a reason
 * @param typed what was typed into it
 */
function confirmation(
  request: ActionRequest,
  lock: LockRecord | undefined,
  refusal?: typeof CHANGED,
  typed = new URLSearchParams({ for: '1h' }),
): Response {
  const { subject, action, name } = request
  const isSame = isUnchanged(request, lock)
  const { status, why } = isSame ? (refusal ?? { status: 200, why: undefined }) : CHANGED
  const main = markup`${why && markup`<div class="alert" role="alert"><strong>Not done.</strong> ${why}</div>`}
${lock && details(lock)}${isSame && form(action, typed)}
<p><a href="${link({})}">All locks</a></p>`
  return page({ status, subject, heading: `${action} ${name}`, main })
}

function details(lock: LockRecord): Markup {
  const { held, paused } = lock
  const owner = displayedOwner(lock)
  return markup`<dl>${owner && markup`<dt>${paused ? 'Pause' : held ? 'Owner' : 'Last owner'}</dt><dd>${owner}</dd>`}
<dt>Locked at</dt><dd>${lockedAt(lock)}</dd>${held && markup`<dt>Until</dt><dd>${until(lock)}</dd>`}</dl>`
}

function form(action: Action, typed: URLSearchParams): Markup {
  const fields = markup`<label>For how long, such as 30m, 8h or 2d<input name="for" value="${typed.get('for') ?? ''}" required pattern="[0-9]+[smhd]" title="A whole number and a unit: 30m, 8h or 2d"></label>
<label>Reason, for others who wonder why it does not run<input name="reason" value="${typed.get('reason') ?? ''}" required maxlength="120"></label>`
  return markup`<p>${ACTIONS[action]}</p>
<form method="post">${action === 'pause' && fields}<button${action === 'release' && markup` class="danger"`}>${action}</button></form>`
}

function pauseOf(fields: URLSearchParams): { duration: string; reason: string } {
  return { duration: fields.get('for') ?? '', reason: fields.get('reason') ?? '' }
}

const COOKIE = 'shedlock-done'
/** In seconds: long enough for the browser to follow the redirect. */
const SHOWN_WITHIN = 30

const DONE: Readonly<Record<Action, (name: string) => string>> = {
  pause: (name) => `The job ${name} is paused.`,
  resume: (name) => `The job ${name} is resumed.`,
  release: (name) => `The lock ${name} is released.`,
}

/** A cookie rather than a part of the URL, so that the message is shown once, and no link from elsewhere can forge it. */
function doneCookie(action: Action, name: string): object {
  const value = `${action}.${Buffer.from(name).toString('base64url')}`
  return { 'set-cookie': `${COOKIE}=${value}; Max-Age=${SHOWN_WITHIN}; HttpOnly; SameSite=Strict` }
}

/** Removes the cookie. */
export const NOTHING_DONE = { 'set-cookie': `${COOKIE}=; Max-Age=0; HttpOnly; SameSite=Strict` }

/** @returns a sentence on what this visitor has just done */
export function doneBy({ headers }: Request): string | undefined {
  const cookie = /(?:^|;\s*)shedlock-done=(pause|resume|release)\.([\w-]+)(?:;|$)/
  const [, action, name = ''] = cookie.exec(headers.get('cookie') ?? '') ?? []
  return action && DONE[action as Action](Buffer.from(name, 'base64url').toString())
}
