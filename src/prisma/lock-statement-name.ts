import { sharedByEveryCopy, warn } from '../core'
import { statementName } from '../drivers'

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

/** From now on the adapter is told a name for this statement. */
export function rememberName(text: string): void {
  if (!shared.refused && !shared.names.has(text)) shared.names.set(text, statementName(text))
}

/** For a statement that was not executed because of its name: the lock asks again. */
export function goOnWithoutNames(refusal: string): void {
  if (shared.refused) return
  shared.refused = true
  shared.names.clear()
  warn(
    `shedlock-orm asks for locks without named statements from now on, because one was refused: ${refusal} – behind a pooler leave lockStatementName out.`,
  )
}
