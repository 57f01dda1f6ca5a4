import {
  aBoolean,
  aFunction,
  aString,
  parseOptions,
  configurationError,
  optionError,
  type Duration,
  type OptionParsers,
} from '../core/internal'
import { parseOverdueAfter, type SqlLockProvider } from '../sql/internal'
import { act, confirm, doneBy, isAction, type ActionRequest } from './action'
import { answer, plainText } from './answer'
import { visitorOf, type Permission } from './authorization'
import { FormError, isFromHere, readForm } from './form'
import { failureOf, placeOfProvider, readLocks, type Overview } from './locks'
import { matching, overviewPage } from './overview'

/** Options of `lockPage`. */
export interface LockPageOptions<Host = unknown> {
  /**
   * Decides who may see the page. Called for each request, before anything else. `host` is the framework's own object, such as
   * Express's `req` with its `user`. If it throws, the page answers 403, and emits a process warning.
   */
  readonly authorize: (request: Request, host: Host) => Permission | Promise<Permission>
  /** Whether the server refuses to pause, resume and release locks. Default `true`. */
  readonly readOnly?: boolean | undefined
  /** How long after its last acquisition each lock is overdue: `{ report: '25h' }`. Default: no limits. */
  readonly overdueAfter?: Readonly<Record<string, Duration>> | undefined
  /**
   * Shown in a band above the page, such as `Shop, production`, so that visitors do not mistake one environment for another. The band is red if
   * the title contains the word `production`, `prod` or `live`. Default: no band.
   */
  readonly title?: string | undefined
}

const OPTIONS = {
  authorize: aFunction,
  readOnly: aBoolean,
  overdueAfter: parseOverdueAfter,
  title: aString,
} satisfies OptionParsers<LockPageOptions>

/** Answers each request, whatever its path. Never rejects. */
export type LockPage<Host = unknown> = (request: Request, host?: Host) => Promise<Response>

/**
 * Creates a page that shows the locks of a table, and lets people pause, resume and release them. It answers standard requests, which Hono,
 * Next, Bun and Deno use; for Express, Fastify and NestJS wrap it in `nodeHandler`. With `Accept: application/json` it answers JSON.
 * Creating the page does not touch the database.
 *
 * @param providers one lock provider, or several by the names that the page shows for them
 * @throws LockError `INVALID_CONFIGURATION`, also without `authorize`
 */
export function lockPage<Host = unknown>(
  providers: SqlLockProvider | Readonly<Record<string, SqlLockProvider>>,
  options: LockPageOptions<Host>,
): LockPage<Host> {
  const parsed = parseOptions(options as LockPageOptions, OPTIONS, 'options of the lock page')
  const { readOnly = true, overdueAfter = new Map<string, number>(), title } = parsed
  const { authorize } = options
  if (!parsed.authorize) throw optionError('authorize', 'a function that decides who may see the lock page')
  const named = isProvider(providers) ? { '': providers } : { ...providers }
  const sources = new Map(Object.entries(named))
  if (sources.size === 0 || ![...sources.values()].every(isProvider))
    throw configurationError(
      'The lock page has no lock provider – pass one, such as typeOrmLockProvider(dataSource), or an object with several by their names.',
    )

  let reading: Promise<Overview> | undefined
  /** Reads the database once for all concurrent visitors. */
  const read = (): Promise<Overview> =>
    (reading ??= readLocks(sources, overdueAfter).finally(() => (reading = undefined)))

  const show = async (request: Request, parameters: URLSearchParams, mayAct: boolean): Promise<Response> => {
    const overview = await read()
    const accept = request.headers.get('accept') ?? ''
    if (!accept.includes('application/json') || accept.includes('text/html'))
      return overviewPage(overview, { parameters, mayAct, title, done: doneBy(request) })
    const { locks, failures } = overview
    const found = matching(parameters.get('q') ?? '', locks).map(({ record, ...lock }) => ({
      ...lock,
      ...record,
    }))
    const json = JSON.stringify({ locks: found, failures })
    return answer(failures.length > 0 ? 503 : 200, 'application/json', json)
  }

  const change = async (
    request: Request,
    requested: ActionRequest,
    user: string | undefined,
  ): Promise<Response> => {
    const form = await readForm(request)
    if (!isFromHere(request))
      return plainText(403, 'This form was not sent by this page. Reload the page, and send the form again.')
    // Requests from now on must see the change.
    return act(requested, form, user).finally(() => (reading = undefined))
  }

  return async (request, host) => {
    const visitor = await visitorOf(() => authorize(request, host as Host))
    if (visitor instanceof Response) return visitor
    if (!['GET', 'HEAD', 'POST'].includes(request.method))
      return plainText(405, 'The page answers only GET and POST.', { allow: 'GET, HEAD, POST' })
    try {
      const parameters = new URL(request.url).searchParams
      const text = (name: string): string => parameters.get(name) ?? ''
      const action = text('action')
      const name = text('name')
      const isPost = request.method === 'POST'
      const mayAct = !readOnly && !visitor.readOnly
      if (action === '' && !isPost) return await show(request, parameters, mayAct)
      if (!mayAct) return plainText(403, 'Nothing can be changed here: this page is read-only.')
      const provider = sources.get(text('provider'))
      if (!provider || name === '' || !isAction(action)) return plainText(404, 'There is no such action.')
      const saw = { owner: text('owner'), until: text('until') }
      const subject = { title, places: [await placeOfProvider(text('provider'), provider)] }
      const requested = { provider, subject, action, name, ...saw }
      return await (isPost ? change(request, requested, visitor.user) : confirm(requested))
    } catch (error) {
      if (error instanceof FormError) return plainText(error.status, error.message)
      const { code, message } = failureOf(error)
      return plainText(503, `${code}: ${message}`)
    }
  }
}

function isProvider(value: unknown): value is SqlLockProvider {
  return typeof (value as Partial<SqlLockProvider> | undefined)?.table?.list === 'function'
}
