import { checkOptions, invalid, type Duration } from '../core'
import { checkLimits, type SqlLockProvider } from '../sql'
import { act, askFor, isAction, type ActionRequest } from './action'
import { answer, plainText } from './answer'
import { visitorOf, type Permission } from './authorization'
import { isFromHere, readForm, tokenOf } from './form'
import { failureOf, readLocks, type Overview } from './locks'
import { matching, overviewPage } from './overview'

/** Options of `lockPage`. */
export interface LockPageOptions<Host = unknown> {
  /**
   * Who may see the page: called for each request, before all else. `host` is what the framework has beside the request, such as
   * Express's `req` with its `user`. An error that it throws is a 403, and a warning of the process.
   */
  readonly authorize: (request: Request, host: Host) => Permission | Promise<Permission>
  /** `false`: visitors may pause, resume and release locks. Default `true`: the server refuses it. */
  readonly readOnly?: boolean | undefined
  /** How long ago each lock was to be acquired at the latest: `{ report: '25h' }`. Otherwise it is overdue. */
  readonly limits?: Readonly<Record<string, Duration>> | undefined
}

/** Answers each request with the page, whatever the path; never rejects. */
export type LockPage<Host = unknown> = (request: Request, host?: Host) => Promise<Response>

/**
 * A page that shows the locks of a table, and lets people pause, resume and release them. It answers standard requests, as Hono, Next,
 * Bun and Deno have them; `nodeHandler` is for Express, Fastify and NestJS. With `Accept: application/json` it answers JSON.
 *
 * @param providers one, or several by the names that the page is to show
 * @throws LockError `INVALID_CONFIGURATION`, also without `authorize`. Does not touch the database
 */
export function lockPage<Host = unknown>(
  providers: SqlLockProvider | Readonly<Record<string, SqlLockProvider>>,
  options: LockPageOptions<Host>,
): LockPage<Host> {
  checkOptions(options, ['authorize', 'readOnly', 'limits'], 'options of the lock page')
  const { authorize, readOnly = true, limits = {} } = options
  if (typeof authorize !== 'function' || typeof readOnly !== 'boolean')
    throw invalid(
      'The lock page needs authorize, a function that says who may see it; readOnly is true or false.',
    )
  const named = isProvider(providers) ? { '': providers } : { ...providers }
  const sources = new Map(Object.entries(named))
  if (sources.size === 0 || ![...sources.values()].every(isProvider))
    throw invalid(
      'The lock page needs a provider, such as typeOrmLockProvider(dataSource), or several by their names.',
    )
  const longest = checkLimits(limits)
  const where = [...sources]
    .map(([name, { description }]) => `${name && `${name}: `}${description}`)
    .join('; ')

  let reading: Promise<Overview> | undefined
  /** However many look at the same time, the database is asked once. */
  const read = (): Promise<Overview> =>
    (reading ??= readLocks(sources, longest).finally(() => (reading = undefined)))

  const show = async (
    { headers }: Request,
    parameters: URLSearchParams,
    mayAct: boolean,
  ): Promise<Response> => {
    const overview = await read()
    const accept = headers.get('accept') ?? ''
    if (!accept.includes('application/json') || accept.includes('text/html'))
      return overviewPage(overview, parameters, mayAct, where)
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
    asked: ActionRequest,
    user: string | undefined,
  ): Promise<Response> => {
    const form = await readForm(request)
    if (!form) return plainText(413, 'The form is too large.')
    if (!isFromHere(request, form))
      return plainText(403, 'This form is not of this page. Load the page, and send it again.')
    // Who looks from now on sees the change.
    return act(asked, form, user).finally(() => (reading = undefined))
  }

  return async (request, host) => {
    const visitor = await visitorOf(() => authorize(request, host as Host))
    if (visitor === 401) return plainText(401, 'Unauthorized')
    if (visitor === 403) return plainText(403, 'Forbidden')
    if (!['GET', 'HEAD', 'POST'].includes(request.method))
      return plainText(405, 'The page answers GET and POST.', { allow: 'GET, HEAD, POST' })
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
      const asked = { provider, action, name, owner: text('owner'), token: tokenOf(request) }
      return await (isPost ? change(request, asked, visitor.user) : askFor(asked))
    } catch (error) {
      const { code, message } = failureOf(error)
      return plainText(503, `${code}: ${message}`)
    }
  }
}

function isProvider(value: unknown): value is SqlLockProvider {
  return typeof (value as Partial<SqlLockProvider> | undefined)?.listLocks === 'function'
}
