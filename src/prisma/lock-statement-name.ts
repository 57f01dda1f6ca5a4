import { sharedByEveryCopy, warn } from '../core'
import { statementName } from '../drivers'
import { refusalOfName } from './native-code'

/** The adapter asks for names by the text of a statement alone, so the names of all clients are in one place. */
const shared = sharedByEveryCopy('lockStatementNames', () => ({
  names: new Map<string, string>(),
  refused: false,
}))

/**
 * For Prisma on PostgreSQL: gives the lock's statements names, so that the server plans each of them once for a connection, and
 * leaves those of your app as they are.
 *
 * ```ts
 * new PrismaPg({ connectionString }, { statementNameGenerator: lockStatementName })
 * ```
 *
 * Where a pooler or the server refuses a name, locks go on without names in this process, and Node.js emits one warning.
 *
 * @returns the name; empty for what is not the lock's
 */
export function lockStatementName({ sql }: { readonly sql: string }): string {
  return shared.names.get(sql) ?? ''
}

/** Runs a statement under its name, if the adapter asks for one, and again without if the name was refused. */
export async function underItsName<T>(text: string, run: () => Promise<T>): Promise<T> {
  if (shared.refused) return run()
  if (!shared.names.has(text)) shared.names.set(text, statementName(text))
  try {
    return await run()
  } catch (error) {
    const refusal = refusalOfName(error)
    if (refusal === undefined) throw error
    goOnWithout(refusal)
    return run()
  }
}

function goOnWithout(refusal: string): void {
  if (shared.refused) return
  shared.refused = true
  shared.names.clear()
  warn(
    `shedlock-orm asks for locks without named statements from now on, because one was refused: ${refusal} – behind a pooler leave lockStatementName out.`,
  )
}
