import { formatDuration } from '../core/internal'
import { displayedOwner, isTrouble, JOB_STATES, summary } from '../sql/internal'
import { actionsFor, NOTHING_DONE, seen } from './action'
import { page } from './answer'
import type { Overview, PageJob } from './locks'
import {
  breakable,
  lastRun,
  link,
  lockedAt,
  markup,
  moment,
  time,
  until,
  type Markup,
  type Part,
} from './markup'

/** In seconds. */
const REFRESH = 15
const ROWS_OF_A_PAGE = 100

/** The jobs that a query selects: by state, and by a text in the name, the owner, or what is known of the last run. */
export function matching(parameters: URLSearchParams, jobs: readonly PageJob[]): PageJob[] {
  const [part, state] = [parameters.get('q')?.toLowerCase() ?? '', parameters.get('state') ?? '']
  const isIn = (value = ''): boolean => value.toLowerCase().includes(part)
  return jobs.filter(
    ({ name, record, ...job }) =>
      isInState(job, state) &&
      [name, record && displayedOwner(record), record?.lastRun?.outcome, record?.lastRun?.error].some(isIn),
  )
}

const TROUBLE = 'trouble'

/** @param state empty: any */
function isInState(job: Pick<PageJob, 'state'>, state: string): boolean {
  return state === '' || (state === TROUBLE ? isTrouble(job.state) : job.state === state)
}

/** What a visitor sees of the jobs. */
interface View {
  readonly parameters: URLSearchParams
  readonly mayAct: boolean
  readonly title: string | undefined
  /** What the visitor has just done. */
  readonly done: string | undefined
}

/** Shows every job, with the actions that the visitor may perform. */
export function overviewPage(overview: Overview, { parameters, mayAct, title, done }: View): Response {
  const { places, jobs, failures } = overview
  const [q, state] = [parameters.get('q') ?? '', parameters.get('state') ?? '']
  // Without scripts, refreshing a page clears what was typed into it, so the filter's form is shown only while it is not refreshed.
  const isFiltering = parameters.get('refresh') === 'filter'
  const refresh = parameters.get('refresh') === 'off' ? 'off' : ''
  const found = matching(parameters, jobs)
  const pages = Math.max(1, Math.ceil(found.length / ROWS_OF_A_PAGE))
  const number = Math.min(pages, Math.max(1, Math.floor(Number(parameters.get('page')) || 1)))
  const first = (number - 1) * ROWS_OF_A_PAGE
  const shown = found.slice(first, first + ROWS_OF_A_PAGE)
  const now = jobs.find(({ record }) => record)?.record?.now
  const same = { q, state, refresh, page: number > 1 ? String(number) : '' }
  const sentence = failures.length > 0 ? unread(overview) : summary(jobs)
  const which = `${first + 1} to ${first + shown.length} of ${found.length}`
  const links = (label: string): Part => pages > 1 && pageLinks(label, same, number, pages, which)
  const main = markup`<p class="dim">${now && markup`Read at ${time(now, true)} UTC. `}${isFiltering ? filtering(same) : refreshing(same)}</p>
<div class="alert" role="alert" data-lost hidden><strong>The app does not answer.</strong> Check whether it runs, and your network. What you see is as old as the time above.</div>
${done && markup`<div class="done" role="status"><strong>Done.</strong> ${done}</div>`}
${failures.map(failure)}
${
  jobs.length > 0 &&
  markup`<nav aria-label="States">${['', TROUBLE, ...JOB_STATES].map((each) => stateLink(each, same, jobs))}</nav>
${refresh || isFiltering ? filterForm(same, isFiltering) : filterLinks(same)}`
}
${shown.length > 0 ? [links('Pages'), table(shown, mayAct), links('Pages, again'), FOOTER] : empty(overview)}`
  return page({
    status: failures.length > 0 ? 503 : 200,
    subject: { title, places },
    heading: sentence,
    main,
    refresh: refresh || isFiltering ? undefined : REFRESH,
    headers: (done !== undefined && NOTHING_DONE) || {},
  })
}

type Parameters = Readonly<Record<'q' | 'state' | 'refresh' | 'page', string>>

function refreshing({ refresh, ...same }: Parameters): Markup {
  if (refresh) return markup`<a href="${link(same)}">Refresh every ${REFRESH} seconds</a>`
  return markup`<span class="refresh">Refreshed every ${REFRESH} seconds.</span> <a href="${link({ ...same, refresh: 'off' })}" data-key="stop">Stop</a>`
}

function filtering({ refresh: _, ...same }: Parameters): Markup {
  return markup`<span class="refresh">Not refreshed while you filter.</span> <a href="${link(same)}">Cancel</a>`
}

function filterForm({ q, state }: Parameters, isFiltering: boolean): Markup {
  const hidden = (name: string, value: string): Part =>
    value !== '' && markup`<input type="hidden" name="${name}" value="${value}">`
  return markup`<form role="search"><label>Name, owner or error<input type="search" name="q" value="${q}"${isFiltering && markup` autofocus`}></label>
${hidden('state', state)}${hidden('refresh', isFiltering ? '' : 'off')}<button>Filter</button></form>`
}

/** Styles the first link as the field that it opens. */
function filterLinks({ q, state }: Parameters): Markup {
  return markup`<p class="filter"><a class="field" href="${link({ q, state, refresh: 'filter' })}" data-key="filter" aria-label="Filter by name, owner or error${q && `: ${q}`}">${q || 'Name, owner or error'}</a>
${q && markup`<a href="${link({ state })}" data-key="all">Show all</a>`}</p>`
}

const FOOTER = markup`<footer>Times are UTC, by the clock of the database; of a job with slots, “locked at” is its slot.</footer>`

/** The links to other pages, above a long table and below it. */
function pageLinks(label: string, same: Parameters, number: number, pages: number, which: string): Markup {
  const to = (other: number, text: string): Part =>
    other >= 1 && other <= pages && markup`<a href="${link({ ...same, page: String(other) })}">${text}</a>`
  return markup`<nav aria-label="${label}">${to(number - 1, 'Previous')}<span>${which}</span>${to(number + 1, 'Next')}</nav>`
}

function unread({ places, failures }: Overview): string {
  return failures.length < places.length ? 'Not all jobs can be read' : 'The jobs cannot be read'
}

function failure({ provider, code, message, age }: Overview['failures'][number]): Markup {
  const which = provider && `of ${provider} `
  const seen = age !== undefined && ` Below is what was read ${formatDuration(age)} ago.`
  return markup`<div class="alert" role="alert"><strong>The jobs ${which}cannot be read: ${code}.</strong> ${message}${seen}</div>`
}

function stateLink(
  state: string,
  { state: current, q, refresh }: Parameters,
  jobs: readonly PageJob[],
): Part {
  const count = jobs.filter((job) => isInState(job, state)).length
  const marked = state === current && markup` aria-current="true"`
  if (count === 0 && !marked) return undefined
  const words = state === '' ? 'all' : state === TROUBLE ? 'need you' : state
  return markup`<a href="${link({ q, state, refresh })}" data-key="state ${state}"${marked}>${words} ${count}</a>`
}

function empty({ jobs, failures }: Overview): Part {
  if (jobs.length > 0)
    return markup`<div class="box">No job matches. <a href="${link({})}">Show all</a></div>`
  const advice =
    'The first run of a job creates its lock. If jobs have run already, check whether they use this database, schema and table.'
  return failures.length === 0 && markup`<div class="box">${advice}</div>`
}

const COLUMNS: Readonly<Record<string, (job: PageJob) => Part>> = {
  Job: ({ name, provider }) => [breakable(name), provider && markup` <small>${provider}</small>`],
  State: ({ state, why }) => [
    markup`<span><span class="state ${state}">${state}</span></span>`,
    why && markup` <small>${why}</small>`,
  ],
  'Next due': ({ nextDue, record }) => nextDue && moment(nextDue, record?.now ?? new Date()),
  'Last run': ({ record }) => record?.lastRun && lastRun(record.lastRun),
  Owner: ({ record }) => record && breakable(displayedOwner(record)),
  'Locked at': ({ record }) => lockedAt(record),
  Until: ({ record }) => record?.held && until(record),
}

function actions({ name, provider, record, canRun }: PageJob): Markup[] {
  return actionsFor(record, canRun).map((action, index) => {
    const address = link({ action, provider, name, ...seen(record) })
    const danger = action === 'release' && markup` class="danger"`
    return markup`<a href="${address}" data-key="${index} ${provider} ${name}"${danger} aria-label="${action} ${name}">${action}</a> `
  })
}

// Explicit roles, because browsers drop the implicit ones when a row is styled as a card.
function table(jobs: readonly PageJob[], mayAct: boolean): Markup {
  const columns = Object.entries(mayAct ? { ...COLUMNS, Action: actions } : COLUMNS).filter(
    // Without a known job the column would be empty.
    ([name]) => name !== 'Next due' || jobs.some(({ nextDue }) => nextDue),
  )
  const head = columns.map(
    ([name]) =>
      markup`<th role="columnheader" scope="col"${name === 'Action' && markup` data-action`}>${name}</th>`,
  )
  const cells = (job: PageJob): Markup[] =>
    columns.map(([name, cell]) => {
      const content = cell(job)
      return markup`<td role="cell" data-label="${name}">${content && markup`<div>${content}</div>`}</td>`
    })
  return markup`<table role="table" aria-label="Jobs"><thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">${jobs.map((job) => markup`<tr role="row">${cells(job)}</tr>\n`)}</tbody></table>`
}
