import { displayedOwner, wasAcquired, type LastRun } from '../sql/internal'
import { actionFor, seen } from './action'
import { page } from './answer'
import { LOCK_STATES, type Overview, type PageLock } from './locks'
import { link, markup, moment, span, time, until, type Markup, type Part } from './markup'

/** In seconds. */
const REFRESH = 15
/** More than anybody reads; the filter finds the others. */
const MOST_ROWS = 200

/** The locks that have the text in what the page shows of them: name, state, owner or outcome of the last run. */
export function matching(text: string, locks: readonly PageLock[]): PageLock[] {
  const part = text.toLowerCase()
  const isIn = (value = ''): boolean => value.toLowerCase().includes(part)
  return locks.filter(({ name, state, record }) =>
    [name, state, record && displayedOwner(record), record?.lastRun?.outcome].some(isIn),
  )
}

/** Every lock, with the actions that the visitor may perform. @param where what was read, such as the table */
export function overviewPage(
  overview: Overview,
  parameters: URLSearchParams,
  mayAct: boolean,
  where: string,
): Response {
  const { locks, failures } = overview
  const q = parameters.get('q') ?? ''
  const refresh = parameters.get('refresh') === 'off' ? 'off' : ''
  const found = matching(q, locks)
  const shown = found.slice(0, MOST_ROWS)
  const now = locks.find(({ record }) => record)?.record?.now
  const trouble = locks.filter(({ state }) => ['overdue', 'died', 'failed'].includes(state)).length
  const main = markup`<h1>Locks</h1>
<p class="dim">${now && markup`Read at ${time(now)} UTC. `}${refreshing(q, refresh)}</p>
${failures.map(failure)}
<nav aria-label="States">${['', ...LOCK_STATES].map((state) => stateLink(state, q, refresh, locks))}</nav>
<form role="search"><label>Name, state or owner<input type="search" name="q" value="${q}"></label>
${refresh && markup`<input type="hidden" name="refresh" value="off">`}<button>Filter</button></form>
${shown.length > 0 ? table(shown, mayAct) : empty(overview)}
${shown.length < found.length && markup`<p>The first ${shown.length} of ${found.length}, trouble first. Filter by a name to see others.</p>`}
<footer>Read from ${where}. Times are UTC, by the clock of the database; of a job with slots, “locked at” is its slot.</footer>`
  return page(
    failures.length > 0 ? 503 : 200,
    trouble > 0 ? `Locks: ${trouble} in trouble` : 'Locks',
    main,
    refresh ? undefined : markup`<meta http-equiv="refresh" content="${REFRESH}">`,
  )
}

function refreshing(q: string, refresh: string): Markup {
  if (refresh) return markup`<a href="${link({ q })}">Refresh every ${REFRESH} seconds</a>`
  return markup`Refreshed every ${REFRESH} seconds. <a href="${link({ q, refresh: 'off' })}">Stop</a>`
}

function failure({ provider, code, message }: Overview['failures'][number]): Markup {
  const which = provider && `of ${provider} `
  return markup`<div class="alert" role="alert"><strong>The locks ${which}cannot be read: ${code}.</strong> ${message}</div>`
}

function stateLink(state: string, q: string, refresh: string, locks: readonly PageLock[]): Part {
  const count = state === '' ? locks.length : locks.filter((lock) => lock.state === state).length
  const current = state === q && markup` aria-current="true"`
  if (count === 0 && !current) return undefined
  return markup`<a href="${link({ q: state, refresh })}"${current}>${state || 'all'} ${count}</a>`
}

function empty({ locks, failures }: Overview): Part {
  if (locks.length > 0)
    return markup`<div class="box">No lock matches. <a href="${link({})}">Show all</a></div>`
  const advice =
    'The first run of a job creates its lock. If jobs have run already, the app uses another database, schema or table.'
  return (
    failures.length === 0 && markup`<div class="box"><strong>There are no locks yet.</strong> ${advice}</div>`
  )
}

const COLUMNS: Readonly<Record<string, (lock: PageLock) => Part>> = {
  Lock: ({ name, provider }) => [
    markup`<span>${name}</span>`,
    provider && markup`<small>${provider}</small>`,
  ],
  State: ({ state, overdueAfter = 0, record }) => [
    markup`<span><span class="state ${state}">${state}</span></span>`,
    state === 'overdue' && markup`<small>${record?.held && 'held, '}limit ${span(overdueAfter)}</small>`,
  ],
  Owner: ({ record }) => record && displayedOwner(record),
  'Locked at': ({ record }) =>
    record && wasAcquired(record) ? moment(record.lockedAt, record.now) : 'never',
  Until: ({ record }) => record?.held && until(record),
  'Last run': ({ record }) => record?.lastRun && lastRun(record.lastRun),
}

function lastRun({ outcome, endedAt, duration }: LastRun): Part {
  const after = duration !== undefined && ` after ${span(duration)}`
  return [markup`<span>${outcome}${after}</span>`, endedAt && markup`<small>${time(endedAt)}</small>`]
}

function action({ name, provider, record }: PageLock): Markup {
  const action = actionFor(record)
  const address = link({ action, provider, name, ...seen(record) })
  return markup`<a href="${address}" aria-label="${action} ${name}">${action}</a>`
}

// The roles are what browsers forget when a row becomes a card.
function table(locks: readonly PageLock[], mayAct: boolean): Markup {
  const columns = Object.entries(mayAct ? { ...COLUMNS, Action: action } : COLUMNS)
  const head = columns.map(([name]) => markup`<th role="columnheader" scope="col">${name}</th>`)
  const cells = (lock: PageLock): Markup[] =>
    columns.map(([name, cell]) => markup`<td role="cell" data-label="${name}">${cell(lock)}</td>`)
  return markup`<table role="table" aria-label="Locks"><thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">${locks.map((lock) => markup`<tr role="row">${cells(lock)}</tr>\n`)}</tbody></table>`
}
