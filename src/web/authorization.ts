import { warn } from '../core'
import { plainText } from './answer'

/** Somebody who may see the page. */
export interface PageVisitor {
  /** The name, which is written into the row of a lock that this visitor pauses. */
  readonly user: string
  /** `true`: the visitor may look, but change nothing. Default: as `readOnly` of the page. */
  readonly readOnly?: boolean | undefined
}

/**
 * What `authorize` returns. A visitor, or `true` for a visitor without a name: may see the page. `undefined` or `null`: nobody has signed
 * in, so the page answers 401. `false` and any other value: 403.
 */
export type Permission = PageVisitor | boolean | null | undefined

/** @returns the answer for those who may not see the page */
export async function visitorOf(
  authorize: () => Permission | Promise<Permission>,
): Promise<Partial<PageVisitor> | Response> {
  try {
    const permission: unknown = await authorize()
    if (permission === true) return {}
    if (permission === undefined || permission === null) return plainText(401, 'Unauthorized')
    if (isVisitor(permission)) return permission
  } catch (error) {
    warn(error)
  }
  return plainText(403, 'Forbidden')
}

/** An object that came here by mistake, such as the app's session, permits nothing. */
function isVisitor(permission: unknown): permission is PageVisitor {
  if (typeof permission !== 'object' || permission === null) return false
  const { user, readOnly = false, ...others } = permission as Record<string, unknown>
  return (
    typeof user === 'string' &&
    user !== '' &&
    typeof readOnly === 'boolean' &&
    Object.keys(others).length === 0
  )
}
