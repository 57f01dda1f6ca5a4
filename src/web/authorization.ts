import { warn } from '../core'

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

/** @returns the status of the answer for those who may not */
export async function visitorOf(
  authorize: () => Permission | Promise<Permission>,
): Promise<Partial<PageVisitor> | 401 | 403> {
  try {
    const permission: unknown = await authorize()
    if (permission === true) return {}
    if (permission === undefined || permission === null) return 401
    return isVisitor(permission) ? permission : 403
  } catch (error) {
    warn(error)
    return 403
  }
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
