import { displayedOwner, isTrouble, JOB_STATES, summary } from '../sql/internal'
import { actionsFor, danger, seen } from './action'
import { page } from './answer'
import type { Overview } from './locks'
import {
  breakable,
  lastRun,
  link,
  lockedAt,
  markup,
  moment,
  rowId,
  time,
  until,
  type Markup,
  type Part,
} from './markup'

/** In seconds. */
const REFRESH = 15

const EMPTY = markup`<div class="box">The first run of a job creates its lock. If jobs have run already, check whether they use this database, schema and table.</div>`
const FOOTER = markup`<footer>Times are UTC, by the clock of the database; of a job with slots, “locked at” is its slot. When a job is due is “not known” if no job of this app declares it.</footer>`

/**
 * Shows every job, with the actions that the visitor may perform.
 *
 * @param refreshes whether the page shows what is new by itself
 */
export function overviewPage(
  { places, jobs, failures }: Overview,
  { refreshes, mayAct, title }: { refreshes: boolean; mayAct: boolean; title: string | undefined },
): Response {
  const now = jobs.find(({ record }) => record)?.record?.now
  const refreshing = refreshes
    ? markup`<span class="refresh">Refreshed every ${REFRESH} seconds.</span> <a href="${link({ refresh: 'off' })}" data-key="stop">Stop</a>`
    : markup`<a href="${link({})}">Refresh every ${REFRESH} seconds</a>`
  const unread = failures.map(
    ({ provider, code, message }) =>
      markup`<div class="alert" role="alert"><strong>The jobs ${provider && `of ${provider} `}cannot be read: ${code}.</strong> ${message}</div>`,
  )
  const main = markup`<p class="dim">${now && markup`Read at ${time(now, true)} UTC. `}${refreshing}</p>
<div class="alert" role="alert" data-lost hidden><strong>The app does not answer.</strong> Check whether it runs, and your network. What you see is as old as the time above.</div>
${unread}
${jobs.length > 0 ? [table(jobs, mayAct), FOOTER] : unread.length === 0 && EMPTY}`
  const [status, heading] =
    unread.length === 0
      ? [200, summary(jobs)]
      : [503, unread.length < places.length ? 'Not all jobs can be read' : 'The jobs cannot be read']
  return page({ status, title, places, heading, main, refresh: refreshes ? REFRESH : undefined })
}

type PageJob = Overview['jobs'][number]

const COLUMNS: Readonly<Record<string, (job: PageJob) => Part>> = {
  Job: ({ name, provider }) => [breakable(name), provider && markup` <small>${provider}</small>`],
  State: ({ state, why }) => [
    markup`<span><span class="state ${state}">${state}</span></span>`,
    why && markup` <small>${why}</small>`,
    (isTrouble(state) || state === 'paused') &&
      markup` <small class="next">${JOB_STATES[state].next}</small>`,
  ],
  'Next due': ({ nextDue, record }) =>
    nextDue
      ? moment(nextDue, record?.now ?? new Date())
      : markup`<span class="dim">${nextDue === null ? 'never again' : 'not known'}</span>`,
  'Last run': ({ record }) => record?.lastRun && lastRun(record.lastRun),
  Owner: ({ record }) => record && breakable(displayedOwner(record)),
  'Locked at': ({ record }) => lockedAt(record),
  Until: ({ record }) => record?.held && until(record),
}

function actions({ name, provider, record, canRun }: PageJob): Markup[] {
  return actionsFor(record, canRun).map((action, index) => {
    const address = link({ action, provider, name, ...seen(record) })
    return markup`<a href="${address}" data-key="${index} ${provider} ${name}"${action === 'release' && danger(record)} aria-label="${action} ${name}">${action}</a> `
  })
}

// Explicit roles, because browsers drop the implicit ones when a row is styled as a card.
function table(jobs: readonly PageJob[], mayAct: boolean): Markup {
  const columns = Object.entries(mayAct ? { ...COLUMNS, Action: actions } : COLUMNS).filter(
    // Without a known job the column would be empty.
    ([name]) => name !== 'Next due' || jobs.some(({ nextDue }) => nextDue !== undefined),
  )
  const head = columns.map(([name]) => markup`<th role="columnheader" scope="col">${name}</th>`)
  const cells = (job: PageJob): Markup[] =>
    columns.map(([name, cell]) => {
      const content = cell(job)
      return markup`<td role="cell" data-label="${name}">${content && markup`<div>${content}</div>`}</td>`
    })
  return markup`<table role="table" aria-label="Jobs"><thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">${jobs.map((job) => markup`<tr role="row" id="${rowId(job.provider, job.name)}">${cells(job)}</tr>\n`)}</tbody></table>`
}
