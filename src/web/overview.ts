import { formatDuration } from '../core/internal'
import { displayedOwner, type LastRun } from '../sql/internal'
import { actionFor, NOTHING_DONE, seen } from './action'
import { page } from './answer'
import { LOCK_STATES, TROUBLE, type Overview, type PageLock } from './locks'
import { link, lockedAt, markup, time, until, type Markup, type Part } from './markup'

/** In seconds. */
const REFRESH = 15
const ROWS_OF_A_PAGE = 100

/** The locks whose name, state, owner or last outcome contains the text. */
export function matching(text: string, locks: readonly PageLock[]): PageLock[] {
  const part = text.toLowerCase()
  const isIn = (value = ''): boolean => value.toLowerCase().includes(part)
  return locks.filter(({ name, state, record }) =>
    [name, state, record && displayedOwner(record), record?.lastRun?.outcome].some(isIn),
  )
}

/** What a visitor sees of the locks. */
interface View {
  readonly parameters: URLSearchParams
  readonly mayAct: boolean
  readonly title: string | undefined
  /** What the visitor has just done. */
  readonly done: string | undefined
}

/** Shows every lock, with the actions that the visitor may perform. */
export function overviewPage(overview: Overview, { parameters, mayAct, title, done }: View): Response {
  const { places, locks, failures } = overview
  const q = parameters.get('q') ?? ''
  // Refreshing a page clears what was typed into it, so the filter's form is shown only while the page is not refreshed.
  const isFiltering = parameters.get('refresh') === 'filter'
  const refresh = parameters.get('refresh') === 'off' ? 'off' : ''
  const found = matching(q, locks)
  const pages = Math.max(1, Math.ceil(found.length / ROWS_OF_A_PAGE))
  const number = Math.min(pages, Math.max(1, Math.floor(Number(parameters.get('page')) || 1)))
  const first = (number - 1) * ROWS_OF_A_PAGE
  const shown = found.slice(first, first + ROWS_OF_A_PAGE)
  const now = locks.find(({ record }) => record)?.record?.now
  const trouble = locks.filter(({ state }) => TROUBLE.includes(state)).length
  const same = { q, refresh, page: number > 1 ? String(number) : '' }
  const main = markup`<p class="dim">${now && markup`Read at ${time(now)} UTC. `}${isFiltering ? filtering(same) : refreshing(same)}</p>
${done && markup`<div class="done" role="status"><strong>Done.</strong> ${done}</div>`}
${failures.map(failure)}
<nav aria-label="States">${['', ...LOCK_STATES].map((state) => stateLink(state, q, refresh, locks))}</nav>
${refresh || isFiltering ? filterForm(q, isFiltering) : filterLinks(q)}
${shown.length > 0 ? table(shown, mayAct) : empty(overview)}
${pages > 1 && pageLinks(same, number, pages, `${first + 1} to ${first + shown.length} of ${found.length}`)}
<footer>Times are UTC, by the clock of the database; of a job with slots, “locked at” is its slot.</footer>`
  return page({
    status: failures.length > 0 ? 503 : 200,
    subject: { title, places },
    heading: 'Locks',
    tab: trouble > 0 ? `Locks: ${trouble} in trouble` : 'Locks',
    main,
    headers: {
      ...(!refresh && !isFiltering && { refresh: String(REFRESH) }),
      ...(done !== undefined && NOTHING_DONE),
    },
  })
}

type Parameters = Readonly<Record<'q' | 'refresh' | 'page', string>>

function refreshing({ refresh, ...same }: Parameters): Markup {
  if (refresh) return markup`<a href="${link(same)}">Refresh every ${REFRESH} seconds</a>`
  return markup`Refreshed every ${REFRESH} seconds. <a href="${link({ ...same, refresh: 'off' })}">Stop</a>`
}

function filtering(same: Parameters): Markup {
  return markup`Not refreshed while you filter. <a href="${link(same)}">Cancel</a>`
}

function filterForm(q: string, isFiltering: boolean): Markup {
  return markup`<form role="search"><label>Name, state or owner<input type="search" name="q" value="${q}"${isFiltering && markup` autofocus`}></label>
${!isFiltering && markup`<input type="hidden" name="refresh" value="off">`}<button>Filter</button></form>`
}

/** Styles the first link as the field that it opens. */
function filterLinks(q: string): Markup {
  return markup`<p class="filter"><a class="field" href="${link({ q, refresh: 'filter' })}" aria-label="Filter by name, state or owner${q && `: ${q}`}">${q || 'Name, state or owner'}</a>
${q && markup`<a href="${link({})}">Show all</a>`}</p>`
}

function pageLinks(same: Parameters, number: number, pages: number, which: string): Markup {
  const to = (other: number, text: string): Part =>
    other >= 1 && other <= pages && markup`<a href="${link({ ...same, page: String(other) })}">${text}</a>`
  return markup`<nav aria-label="Pages">${to(number - 1, 'Previous')}<span>${which}</span>${to(number + 1, 'Next')}</nav>`
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
    state === 'overdue' &&
      markup`<small>${record?.held && 'held, '}limit ${formatDuration(overdueAfter)}</small>`,
    state === 'ahead' && markup`<small>another clock wrote it</small>`,
  ],
  Owner: ({ record }) => record && displayedOwner(record),
  'Locked at': ({ record }) => lockedAt(record),
  Until: ({ record }) => record?.held && until(record),
  'Last run': ({ record }) => record?.lastRun && lastRun(record.lastRun),
}

function lastRun({ outcome, endedAt, duration }: LastRun): Part {
  const after = duration !== undefined && ` after ${formatDuration(duration)}`
  return [markup`<span>${outcome}${after}</span>`, endedAt && markup`<small>${time(endedAt)}</small>`]
}

function action({ name, provider, record }: PageLock): Markup {
  const action = actionFor(record)
  const address = link({ action, provider, name, ...seen(record) })
  const danger = action === 'release' && markup` class="danger"`
  return markup`<a href="${address}"${danger} aria-label="${action} ${name}">${action}</a>`
}

// Explicit roles, because browsers drop the implicit ones when a row is styled as a card.
function table(locks: readonly PageLock[], mayAct: boolean): Markup {
  const columns = Object.entries(mayAct ? { ...COLUMNS, Action: action } : COLUMNS)
  const head = columns.map(([name]) => markup`<th role="columnheader" scope="col">${name}</th>`)
  const cells = (lock: PageLock): Markup[] =>
    columns.map(([name, cell]) => markup`<td role="cell" data-label="${name}">${cell(lock)}</td>`)
  return markup`<table role="table" aria-label="Locks"><thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">${locks.map((lock) => markup`<tr role="row">${cells(lock)}</tr>\n`)}</tbody></table>`
}
