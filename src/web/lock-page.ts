import {
  aBoolean,
  anArray,
  aFunction,
  aString,
  parseJobs,
  parseOptions,
  configurationError,
  optionError,
  type Duration,
  type Job,
  type OptionParsers,
} from '../core/internal'
import { parseExpected, type SqlLockProvider } from '../sql/internal'
import { act, isAction, notDone } from './action'
import { answer, plainText } from './answer'
import { refusedHost, visitorOf, type Permission } from './authorization'
import { FormError, isFromHere, readForm } from './form'
import { failureOf, placeOf, readLocks } from './locks'
import { overviewPage } from './overview'

/** Options of `lockPage`. */
export interface LockPageOptions<Host = unknown> {
  /**
   * Decides who may see the page. Called for each request, before anything else. `host` is the framework's own object, such as
   * Express's `req` with its `user`. If it throws, the page answers 403, and emits a process warning.
   */
  readonly authorize: (request: Request, host: Host) => Permission | Promise<Permission>
  /**
   * The names of the hosts that the page answers to, without ports: `['admin.example.com']`. Default: any for a visitor whose name `authorize`
   * returns; after `true`, only IP addresses and names without a dot, because a website may have its own name resolve to this server.
   */
  readonly hosts?: readonly string[] | undefined
  /** Whether the server refuses to run jobs, and to pause, resume and release locks. Default `true`. */
  readonly readOnly?: boolean | undefined
  /**
   * What the app knows of its jobs, by the names of their locks: `{ report: { due: cron, run: () => reports.nightly() } }`. `due` shows
   * when the job is due next and whether nobody ran it when it was due; `run` adds a button that runs it now. Default: nothing.
   */
  readonly jobs?: Readonly<Record<string, Job>> | undefined
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
  hosts: (hosts: readonly string[]) =>
    anArray(hosts, 'hosts').map((host) => aString(host, 'hosts').toLowerCase()),
  readOnly: aBoolean,
  jobs: parseJobs,
  overdueAfter: parseExpected,
  title: aString,
} satisfies OptionParsers<LockPageOptions>

/** Answers each request, whatever its path. Never rejects. */
export type LockPage<Host = unknown> = (request: Request, host?: Host) => Promise<Response>

/**
 * Creates a page that shows the jobs whose locks are in a table, and lets people run, pause, resume and release them. It answers
 * standard requests, which Hono, Next, Bun and Deno use; for Express, Fastify and NestJS wrap it in `nodeHandler`. With
 * `Accept: application/json` it answers JSON. Creating the page does not touch the database.
 *
 * @param providers one lock provider, or several by the names that the page shows for them
 * @throws LockError `INVALID_CONFIGURATION`, also without `authorize`
 */
export function lockPage<Host = unknown>(
  providers: SqlLockProvider | Readonly<Record<string, SqlLockProvider>>,
  options: LockPageOptions<Host>,
): LockPage<Host> {
  const parsed = parseOptions(options as LockPageOptions, OPTIONS, 'options of the lock page')
  const { hosts, readOnly = true, title } = parsed
  const expected = new Map(parsed.overdueAfter)
  for (const [name, job] of parsed.jobs ?? []) expected.set(name, { ...expected.get(name), job })
  if (!parsed.authorize) throw optionError('authorize', 'a function that decides who may see the lock page')
  const sources = new Map(Object.entries(isProvider(providers) ? { '': providers } : { ...providers }))
  if (sources.size === 0 || ![...sources.values()].every(isProvider))
    throw configurationError(
      'The lock page has no lock provider – pass one, such as typeOrmLockProvider(dataSource), or an object with several by their names.',
    )

  const show = async (request: Request, refreshes: boolean, mayAct: boolean): Promise<Response> => {
    const overview = await readLocks(sources, expected)
    if (!wantsJson(request)) return overviewPage(overview, { refreshes, mayAct, title })
    const { failures } = overview
    const locks = overview.jobs.map(({ record, ...job }) => ({ ...job, ...record }))
    return answer(failures.length > 0 ? 503 : 200, 'application/json', JSON.stringify({ locks, failures }))
  }

  return async (request, host) => {
    const visitor = await visitorOf(() => options.authorize(request, host as Host))
    if (visitor instanceof Response) return visitor
    const refused = refusedHost(request, hosts, visitor)
    if (refused) return refused
    if (!['GET', 'HEAD', 'POST'].includes(request.method))
      return plainText(405, 'The page answers only GET and POST.', { allow: 'GET, HEAD, POST' })
    const parameters = Object.fromEntries(new URL(request.url).searchParams)
    const { action = '', name = '', provider: source = '', owner = '', until = '', refresh } = parameters
    const isPost = request.method === 'POST'
    const mayAct = !readOnly && !visitor.readOnly
    if (action === '' && !isPost) return show(request, refresh !== 'off', mayAct)
    if (!mayAct)
      return plainText(
        403,
        `Nothing can be changed here: ${readOnly ? 'this page is' : 'your access is'} read-only.`,
      )
    const provider = sources.get(source)
    if (!provider || name === '' || !isAction(action))
      return plainText(404, 'The address names no action, lock or provider of this page. Go back to it.')
    if (isPost && !isFromHere(request))
      return plainText(
        403,
        'The browser does not say that this page sent the form. Reload the page, and send it again. If that fails, check whether a proxy changes the header Host.',
      )
    const place = await placeOf(source, provider)
    const seen = { name, job: expected.get(name)?.job ?? {}, owner, until }
    const requested = { provider, source, title, place, action, user: visitor.user, ...seen }
    try {
      return await act(requested, isPost ? await readForm(request) : undefined)
    } catch (error) {
      if (error instanceof FormError) return plainText(error.status, error.message)
      const { code, message } = failureOf(error)
      return notDone(requested, 503, `${code}: ${message}`)
    }
  }
}

function wantsJson({ headers }: Request): boolean {
  const accept = headers.get('accept') ?? ''
  return accept.includes('application/json') && !accept.includes('text/html')
}

function isProvider(value: unknown): value is SqlLockProvider {
  return typeof (value as Partial<SqlLockProvider> | undefined)?.table?.list === 'function'
}
