import { LockError } from '../core'
import { readableOwner, type LockRecord, type SqlLockProvider } from '../sql'
import { page, plainText } from './answer'
import { tokenCookie } from './form'
import { markup, moment, until, type Markup } from './markup'
import { link } from './overview'

/** What the page says above the button. */
const ACTIONS = {
  pause:
    'Every instance skips the job until the pause is over, Java services too. A run in progress goes on.',
  resume: 'The job runs again when it is due next.',
  release:
    'Release the lock only if this owner is gone. An owner that is alive is not stopped, and another instance may run the job at the same time.',
} as const

/** What a visitor wants to do, as the address of the page says it. */
export interface ActionRequest {
  readonly provider: SqlLockProvider
  readonly action: keyof typeof ACTIONS
  readonly name: string
  /** Who held the lock when the visitor looked; empty: nobody. */
  readonly owner: string
  /** The token of the form. */
  readonly token: string
}

export function isAction(text: string): text is ActionRequest['action'] {
  return Object.hasOwn(ACTIONS, text)
}

/** The page with the form that confirms the action. @param wrong what was wrong with the form */
export async function confirmation(request: ActionRequest, wrong?: string): Promise<Response> {
  const { provider, action, name, owner, token } = request
  const lock = await provider.findLock(name)
  const isSame = owner === (lock?.held ? lock.lockedBy : '')
  const notDone = isSame ? wrong : 'The lock has changed since you looked.'
  const title = `${action} ${name}`
  const main = markup`<h1>${title}</h1>
${notDone && markup`<div class="alert" role="alert"><strong>Not done.</strong> ${notDone}</div>`}
${lock && details(lock)}${isSame && form(action, token)}
<p><a href="${link({})}">All locks</a></p>`
  return page(isSame ? (wrong ? 400 : 200) : 409, title, main, undefined, tokenCookie(token))
}

function details(lock: LockRecord): Markup {
  const { held, paused, lockedBy, lockedAt, now } = lock
  return markup`<dl><dt>${paused ? 'Pause' : held ? 'Owner' : 'Last owner'}</dt><dd>${readableOwner(lockedBy)}</dd>
<dt>Locked at</dt><dd>${moment(lockedAt, now)}</dd>${held && markup`<dt>Until</dt><dd>${until(lock)}</dd>`}</dl>`
}

function form(action: ActionRequest['action'], token: string): Markup {
  const fields = markup`<label>For how long, such as 30m, 8h or 2d<input name="for" value="1h" required pattern="[0-9]+[smhd]"></label>
<label>Reason, for others who wonder why it does not run<input name="reason" required maxlength="120"></label>`
  return markup`<p>${ACTIONS[action]}</p>
<form method="post"><input type="hidden" name="token" value="${token}">
${action === 'pause' && fields}<button>${action}</button></form>`
}

/** Performs the action and leads back to the lock, or says why nothing was done, with the form again. */
export async function act(
  request: ActionRequest,
  fields: URLSearchParams,
  user: string | undefined,
): Promise<Response> {
  const { provider, action, name, owner } = request
  try {
    const isDone =
      action === 'pause'
        ? await provider.pauseLock(name, { ...pauseOf(fields), by: user })
        : await provider.releaseLock(name, owner)
    return isDone ? plainText(303, 'Done.', { location: link({ q: name }) }) : await confirmation(request)
  } catch (error) {
    if (!(error instanceof LockError) || error.code !== 'INVALID_CONFIGURATION') throw error
    return confirmation(request, error.message)
  }
}

function pauseOf(fields: URLSearchParams): { for: string; reason: string } {
  const duration = fields.get('for') ?? ''
  // In code a number is milliseconds; in a form it is a mistake.
  return {
    for: /\d$/.test(duration) ? `${duration}, without a unit` : duration,
    reason: fields.get('reason') ?? '',
  }
}
