import { LockError, warn, type KnownJob } from '../core/internal'
import {
  describePlace,
  jobView,
  troubleFirst,
  type JobView,
  type LockRecord,
  type SqlLockProvider,
} from '../sql/internal'

/** A job as the page shows it. */
export interface PageJob extends JobView {
  /** The name of its provider; empty if there is only one. */
  readonly provider: string
  /** Whether the app can start it. */
  readonly canRun: boolean
}

/** Why the jobs of a provider cannot be shown. */
interface Failure {
  readonly provider: string
  readonly code: string
  readonly message: string
}

export interface Overview {
  /** Where the locks were read. */
  readonly places: readonly string[]
  readonly jobs: readonly PageJob[]
  readonly failures: readonly Failure[]
}

/** What the app knows. */
export interface Knowledge {
  readonly jobs: ReadonlyMap<string, KnownJob>
  /** In milliseconds. */
  readonly overdueAfter: ReadonlyMap<string, number>
}

/** Reads the tables of several providers. */
export class Locks {
  #reading: Promise<Overview> | undefined

  constructor(
    private readonly providers: ReadonlyMap<string, SqlLockProvider>,
    private readonly knowledge: Knowledge,
  ) {}

  /** Reads every job of every provider once for all concurrent visitors, trouble first. Never rejects. */
  read(): Promise<Overview> {
    return (this.#reading ??= this.#read().finally(() => {
      this.forget()
    }))
  }

  /** Makes requests from now on read again, because something was changed. */
  forget(): void {
    this.#reading = undefined
  }

  async #read(): Promise<Overview> {
    const failures: Failure[] = []
    const tables = await Promise.all(
      [...this.providers].map(async ([name, provider]) => {
        try {
          return { name, place: await placeOf(name, provider), records: await provider.table.list() }
        } catch (error) {
          failures.push({ provider: name, ...failureOf(error) })
          return { name, place: named(name, provider.description), records: [] }
        }
      }),
    )
    const jobs = tables.flatMap(({ name, records }) =>
      records.map((record) => this.#view(name, record.name, record)),
    )
    const names = new Set(jobs.map(({ name }) => name))
    const [first = ''] = this.providers.keys()
    const { overdueAfter, jobs: known } = this.knowledge
    // If a table could not be read, a lock may be in it, so report no lock as missing.
    for (const name of failures.length === 0 ? new Set([...overdueAfter.keys(), ...known.keys()]) : [])
      if (!names.has(name)) jobs.push(this.#view(first, name, undefined))
    return { places: tables.map(({ place }) => place), jobs: jobs.sort(troubleFirst), failures }
  }

  #view(provider: string, name: string, record: LockRecord | undefined): PageJob {
    const { overdueAfter, jobs } = this.knowledge
    const job = jobs.get(name)
    const view = jobView(name, record, { job, overdueAfter: overdueAfter.get(name) })
    return { provider, ...view, canRun: job?.run !== undefined }
  }
}

/** Which table a provider uses. Never rejects. */
export async function placeOf(name: string, provider: SqlLockProvider): Promise<string> {
  return named(name, await provider.table.place().then(describePlace, () => provider.description))
}

function named(name: string, place: string): string {
  return name === '' ? place : `${name}: ${place}`
}

/** The code for anything but a LockError. */
const UNEXPECTED = 'UNEXPECTED_ERROR'

const ADVICE: Readonly<Record<string, string>> = {
  TIMEOUT:
    'The database did not answer in time. Check whether it is reachable, the connection pool is exhausted, or the table is locked.',
  DATABASE_ERROR:
    "The database is not reachable, or it answered with an error. The app's log has that error; npx shedlock-orm doctor finds what is wrong with the table.",
  [UNEXPECTED]: "The app's log has the error.",
}

/** Describes an error to visitors. The database's own message may contain secrets, so it only goes to the app's log. */
export function failureOf(error: unknown): { code: string; message: string } {
  const { code, message } = error instanceof LockError ? error : { code: UNEXPECTED, message: '' }
  const advice = ADVICE[code]
  if (advice !== undefined) warn(error)
  return { code, message: advice ?? message }
}
