import { warn } from '../core/internal'
import { plainText } from './answer'

/**
 * What `authorize` returns. A visitor, or `true` for a visitor without a name, may see the page. For `undefined` or `null`, which mean
 * that the visitor has not signed in, the page answers 401; for `false` and any other value, 403.
 */
export type Permission =
  | {
      /** The visitor's name, which is written into the row of a lock that this visitor pauses. */
      readonly user: string
      /** `true`: the visitor may see the locks but change nothing. Default: the page's `readOnly`. */
      readonly readOnly?: boolean | undefined
    }
  | boolean
  | null
  | undefined

/** What a visitor may do. Has no name if `authorize` returned `true`. */
export interface Visitor {
  readonly user?: string
  readonly readOnly: boolean
}

/** @returns the visitor, or the response to one who may not see the page */
export async function visitorOf(
  authorize: () => Permission | Promise<Permission>,
): Promise<Visitor | Response> {
  try {
    const permission: unknown = await authorize()
    if (permission === true) return { readOnly: false }
    if (permission === undefined || permission === null) return plainText(401, 'Unauthorized')
    const visitor = namedVisitor(permission)
    if (visitor) return visitor
  } catch (error) {
    warn(error)
  }
  return plainText(403, 'Forbidden')
}

/** Only this network resolves such a name to an address of its own: an IP address, or a name without a dot. */
const OF_THIS_NETWORK = /^(\[.*\]|[\d.]+|[^.]+|.+\.localhost)$/

/**
 * Checks which host a request names. A website may have its own name resolve to the page's address, so that its scripts can read the page in
 * a browser of this network. They cannot send the cookies of a sign-in.
 *
 * @param hosts `undefined`: any that a visitor signed in to, else those of this network
 * @returns the response to another host
 */
export function refusedHost(
  request: Request,
  hosts: readonly string[] | undefined,
  { user }: Visitor,
): Response | undefined {
  const address = `http://${hostOf(request)}`
  const hostname = URL.canParse(address) ? new URL(address).hostname : ''
  if (hosts ? hosts.includes(hostname) : user !== undefined || OF_THIS_NETWORK.test(hostname))
    return undefined
  return plainText(
    403,
    `The page does not answer to this host. If it should, set its option hosts: ['${hostname}'], or let authorize return the name of the visitor.`,
  )
}

/** The host and the port that a request names. */
export function hostOf({ headers, url }: Request): string {
  return headers.get('host') ?? new URL(url).host
}

/** @returns `undefined` for an object that `authorize` returned by mistake, such as the app's session: it permits nothing */
function namedVisitor(permission: unknown): Visitor | undefined {
  if (typeof permission !== 'object' || permission === null) return undefined
  // An inherited user may come from anywhere, such as a polluted prototype. An inherited readOnly can only take permissions away.
  if (!Object.hasOwn(permission, 'user')) return undefined
  const { user, readOnly = false, ...others } = permission as Record<string, unknown>
  if (typeof user !== 'string' || user === '' || typeof readOnly !== 'boolean') return undefined
  return Object.keys(others).length === 0 ? { user, readOnly } : undefined
}
