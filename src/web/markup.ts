import { formatDuration, printable } from '../core/internal'
import { isHeldForEver, wasAcquired, type LastRun, type LockRecord } from '../sql/internal'

/** HTML created by `markup`, which inserts it unchanged. Everything else is escaped. */
export class Markup {
  constructor(readonly html: string) {}
}

export type Part = Markup | string | number | false | undefined | readonly Part[]

/** Escapes what is inserted at `${…}`, between tags and in quoted attributes. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...parts.map(escape)))
}

function escape(part: Part): string {
  if (part instanceof Markup) return part.html
  if (part === undefined || part === false) return ''
  if (typeof part === 'object') return part.map(escape).join('')
  // Characters that are invisible or change the direction of text are shown as their codes.
  return printable(String(part)).replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`)
}

/** A relative URL of another view of this page, so that the page can be mounted anywhere. */
export function link(parameters: Readonly<Record<string, string>>): string {
  return `?${new URLSearchParams(parameters).toString()}`
}

/** The fragment of the page's address that leads to a job. */
export function rowId(provider: string, name: string): string {
  return `${provider}/${name}`
}

/** Where a long word may break: after its separators, and before a capital letter. */
const BREAKS = /(?<=[.:/_@])|(?<=[a-z\d])(?=[A-Z])/
/** Shorter words fit into every column. */
const LONG = 16

/** Lets a long word break at its separators rather than anywhere. */
export function breakable(text: string): Part {
  return text
    .split(/(?<=\s)/)
    .map((word) => (word.length > LONG ? word.split(BREAKS).map((part) => markup`<wbr>${part}`) : word))
}

/** Shows how the last run ended, why, and when. */
export function lastRun({ outcome, endedAt, duration, error }: LastRun): Part {
  const after = duration !== undefined && ` after ${formatDuration(duration)}`
  return [
    markup`<span>${outcome}${after}</span>`,
    error && markup` <small class="error">${breakable(error)}</small>`,
    endedAt && markup` <small>${time(endedAt)}</small>`,
  ]
}

/** Shows when a lock was last acquired. */
export function lockedAt(record: LockRecord | undefined): Part {
  return record && wasAcquired(record) ? moment(record.lockedAt, record.now) : 'never'
}

/** Shows a time, and how long ago it was or how far ahead it is. */
export function moment(at: Date, now: Date): Markup {
  const ahead = at.getTime() - now.getTime()
  return markup`<span>${ahead > 0 ? `in ${formatDuration(ahead)}` : `${formatDuration(-ahead)} ago`}</span> <small>${time(at)}</small>`
}

export function until(record: LockRecord): Markup {
  return isHeldForEver(record) ? markup`<span>for ever</span>` : moment(record.lockUntil, record.now)
}

/** Shows a time to the minute; beside it is how long ago it was. @param precisely to the second */
export function time(at: Date, precisely = false): Markup {
  const text = at.toISOString()
  return markup`<time datetime="${text}">${text.slice(0, precisely ? 19 : 16).replace('T', ' ')}</time>`
}
