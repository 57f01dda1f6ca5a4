import { SqlLockProvider, dialects } from 'shedlock-orm/sql'
import { lockPage } from 'shedlock-orm/web'
import { client, connect } from './connection'

// The app that serves the operators' page, with a connection of its own.

export interface Visit {
  readonly id: number
  /** The part of the address that the page's links contain. */
  readonly query: string
  /** The fields of a form that is sent. */
  readonly form?: string | undefined
  /** Whether the page is only loaded again. */
  readonly isRefresh?: boolean | undefined
}

export interface Wanted {
  /** Its connection, sent with the first message. */
  readonly database?: MessagePort
  readonly visit?: Visit
}

export interface Visited {
  readonly id: number
  /** Where the visit ended: the page may have redirected it. */
  readonly query: string
  readonly isHtml: boolean
  readonly body: string
  /** Whether the page asks the browser to load it again from time to time. */
  readonly refreshes: boolean
}

const ATTEMPTS = 5
/** A run that takes longer is shown as one, in milliseconds. */
const LONG = 2_000
const ADDRESS = 'https://app.example/locks'

/** Keeps the headers that browsers remove: a worker is no server. */
globalThis.Response = class extends Response {
  override readonly headers: Headers

  constructor(body?: BodyInit | null, init?: ResponseInit) {
    super(body, init)
    this.headers = new Headers(init?.headers)
  }
}

const provider = new SqlLockProvider(client, dialects.sqlite, { timeLimit: '1s' })
const page = lockPage(provider, { authorize: () => ({ user: 'you' }), readOnly: false })

/** A request as a server receives it. Browsers set some of its headers themselves, and only when they send it. */
function request(query: string, form: string | undefined): Request {
  const headers = { accept: 'text/html', 'sec-fetch-site': 'same-origin' }
  return Object.defineProperties(
    new Request(ADDRESS + query, { method: form === undefined ? 'GET' : 'POST' }),
    {
      headers: { value: new Headers(headers) },
      body: { value: form === undefined ? null : new Blob([form]).stream() },
    },
  )
}

/**
 * Waits until the job is not running, because the page offers to pause only such a job. This one is due so often that it would run
 * again before the visitor has typed a reason.
 */
async function untilRunIsOver(atMost = Infinity): Promise<void> {
  const isHeldByRun = async (): Promise<boolean> => {
    const { held, paused } = (await provider.table.find('send-report')) ?? {}
    return held === true && !paused
  }
  const end = Date.now() + atMost
  // Without the database, the page says so.
  while (Date.now() < end && (await isHeldByRun().catch(() => false)))
    await new Promise((resolve) => setTimeout(resolve, 50))
}

async function load({ id, query, form, isRefresh }: Visit, attempt = 1): Promise<Visited> {
  const pauses = new URLSearchParams(query).get('action') === 'pause'
  if (pauses) await untilRunIsOver()
  else if (isRefresh) await untilRunIsOver(LONG)
  const response = await page(request(query, form))
  const { status, headers } = response
  const body = await response.text()
  if (status === 303) return load({ id, query: '' })
  // The next run may have begun in the meantime.
  if (status === 409 && pauses && attempt < ATTEMPTS) return load({ id, query, form }, attempt + 1)
  const isHtml = headers.get('content-type')?.startsWith('text/html') === true
  return { id, query, isHtml, body, refreshes: body.includes('<body data-refresh=') }
}

self.onmessage = async ({ data: { database, visit } }: MessageEvent<Wanted>) => {
  if (database)
    connect(database, (callback) => {
      callback()
    })
  if (visit) postMessage(await load(visit))
}
