import { LockError, warn } from '../core/internal'
import {
  describePlace,
  jobView,
  troubleFirst,
  type Expected,
  type LockRecord,
  type SqlLockProvider,
} from '../sql/internal'

/** What the page shows: where the locks were read, every job with the name of its provider, and what could not be read. */
export type Overview = Awaited<ReturnType<typeof readLocks>>

/**
 * Reads every job of every provider, trouble first. Never rejects.
 *
 * @param providers by their names; that of the only one is empty
 */
export async function readLocks(
  providers: ReadonlyMap<string, SqlLockProvider>,
  expected: ReadonlyMap<string, Expected>,
) {
  const failures: { provider: string; code: string; message: string }[] = []
  const view = (provider: string, name: string, record?: LockRecord) => {
    const expectedOf = expected.get(name)
    return { provider, ...jobView(name, record, expectedOf), canRun: expectedOf?.job?.run !== undefined }
  }
  const reading = Array.from(providers, async ([name, provider]) => {
    const records = provider.table.list().catch((error: unknown) => {
      failures.push({ provider: name, ...failureOf(error) })
      return []
    })
    const place = placeOf(name, provider)
    return { jobs: (await records).map((record) => view(name, record.name, record)), place: await place }
  })
  const tables = await Promise.all(reading)
  const jobs = tables.flatMap((table) => table.jobs)
  const names = new Set(jobs.map(({ name }) => name))
  const [first = ''] = providers.keys()
  // If a table could not be read, a lock may be in it, so report no lock as missing.
  for (const name of failures.length === 0 ? expected.keys() : [])
    if (!names.has(name)) jobs.push(view(first, name))
  return { places: tables.map(({ place }) => place), jobs: jobs.sort(troubleFirst), failures }
}

/** Which table a provider uses. Never rejects. */
export async function placeOf(name: string, provider: SqlLockProvider): Promise<string> {
  const place = await provider.table.place().then(describePlace, () => provider.description)
  return name === '' ? place : `${name}: ${place}`
}

/** The codes whose messages never contain one of the database. That of a lost lock may: it says why the lock could not be extended. */
const OWN_WORDS = /^(INVALID_CONFIGURATION|INVALID_CLIENT|TABLE_.+|NOT_LOCKED|SKIPPED|SHUTDOWN)$/

const ADVICE: Readonly<Record<string, string>> = {
  TIMEOUT:
    'The database did not answer in time. Check whether it is reachable, the connection pool is exhausted, or the table is locked.',
  DATABASE_ERROR:
    "The database is not reachable, or it answered with an error. The app's log has that error; npx shedlock-orm doctor finds what is wrong with the table.",
}

/** Describes an error to visitors. The database's own message may contain secrets, so it only goes to the app's log. */
export function failureOf(error: unknown): { code: string; message: string } {
  const { code, message } = error instanceof LockError ? error : { code: 'UNEXPECTED_ERROR', message: '' }
  if (OWN_WORDS.test(code)) return { code, message }
  warn(error)
  return { code, message: ADVICE[code] ?? "The app's log has the error." }
}
