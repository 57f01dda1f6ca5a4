import { drivers, sqlClient, type RunStatement } from '../drivers/internal'
import { postgresCode, type SqlRow, type SqlClient } from '../sql/internal'

/** What this library uses of Prisma 8's client: the `db` that `postgres()` of `@prisma/orm-postgres/runtime` creates. */
export interface Prisma8ClientLike {
  readonly contract: { readonly target: string }
  readonly raw: {
    /** Takes SQL as a template whose values are bound. The result builds a plan, which any scope can run. */
    readonly sql: (
      text: TemplateStringsArray,
      ...values: (string | number)[]
    ) => {
      /** Declares that the plan returns the number of rows it changed. */
      affectedCount(): {
        /** Builds the plan. */
        build(): unknown
      }
    }
  }
  /** Runs plans on pooled connections, or lends a connection. */
  runtime(): Pick<Prisma8TransactionLike, 'execute' | 'query'> & {
    /** Lends a pooled connection. */
    connection(): PromiseLike<
      Pick<Prisma8TransactionLike, 'execute' | 'query'> & {
        /** Returns the connection to the pool. */
        release(): PromiseLike<void>
      }
    >
  }
}

/** The `tx` that `db.transaction` passes to its callback. */
export interface Prisma8TransactionLike {
  /** Runs a plan and returns the number of rows it changed. */
  execute(plan: unknown): PromiseLike<{ readonly affectedRows: number }>
  /** Runs a plan and returns its rows. */
  query(plan: unknown): PromiseLike<unknown>
  readonly invalidated: boolean
}

/** A scope: the runtime, one of its connections, or the `tx` of `db.transaction`. */
type Scope = Pick<Prisma8TransactionLike, 'execute' | 'query'>

/** `db.raw.sql` */
export type RawTag = Prisma8ClientLike['raw']['sql']

/** A character that occurs in no statement, whatever the names in it are. */
const PLACEHOLDER = '\0'

/**
 * Borrows a connection for each session. On the runtime itself, statements would join the app's open transaction if the app passed
 * one `pg.Client` instead of a pool; a borrowed connection waits until that transaction has ended. It is never destroyed, because that
 * would close such a client for good.
 */
export function prisma8SqlClient(db: Prisma8ClientLike): SqlClient {
  let markerRead = false
  return sqlClient(driver, {
    pool: db,
    async connect() {
      const runtime = db.runtime()
      if (!markerRead) {
        // A runtime's first statement reads the contract's marker on another connection. In a pool of one, it would wait for ours
        // forever, so trigger that before a connection is borrowed.
        await runtime.query(planOf(db.raw.sql, 'select 1', []))
        markerRead = true
      }
      const connection = await runtime.connection()
      return { run: runPlans(db.raw.sql, connection), release: () => connection.release() }
    },
  })
}

/** Runs each statement in an open transaction, which has no raw SQL of its own. */
export function prisma8TransactionClient(tag: RawTag, transaction: Prisma8TransactionLike): SqlClient {
  return sqlClient(driver, runPlans(tag, transaction))
}

const driver = {
  placeholder: () => PLACEHOLDER,
  inAscii: drivers.postgres.inAscii,
  errorCode: prisma8Code,
  notSent: prisma8NotSent,
  lasts: prisma8Lasts,
}

/** Runs each statement as a raw SQL plan. */
function runPlans(tag: RawTag, scope: Scope): RunStatement {
  return async (text, values, _, wants) => {
    const plan = planOf(tag, text, values)
    return wants === 'rows'
      ? { rows: (await scope.query(plan)) as SqlRow[] }
      : { rows: [], changed: (await scope.execute(plan)).affectedRows }
  }
}

/**
 * Prisma 8's `lints` require the word "limit" in all raw SQL that contains SELECT; without it, `noLimit: 'error'` would prevent the
 * release of a lock.
 */
const FOR_LINTS = ' /* one row, no limit */'

/**
 * Builds a raw SQL plan. A plan must declare its result. One that declares a count serves both uses: it can also be queried, and its
 * rows then arrive as the driver returns them.
 */
function planOf(tag: RawTag, text: string, values: readonly (string | number | null)[]): unknown {
  // Prisma has no codec for an untyped null.
  let position = 0
  const withNulls = text.replaceAll(PLACEHOLDER, () => (values[position++] === null ? 'null' : PLACEHOLDER))
  const pieces = `${withNulls}${FOR_LINTS}`.split(PLACEHOLDER)
  const bound = values.filter((value) => value !== null)
  return tag(Object.assign(pieces, { raw: pieces }), ...bound)
    .affectedCount()
    .build()
}

/** An error thrown by Prisma 8, or one of its causes, among which is the error thrown by `pg`. */
interface ErrorLike {
  readonly code?: unknown
  readonly severity?: unknown
  readonly cause?: ErrorLike
}

const SQLSTATE = /^[0-9A-Z]{5}$/

/**
 * The server's code for an error thrown by Prisma 8. Its `sqlState` is unreliable: it is any code of five characters, including
 * Node.js's `EPIPE`. An error from the server has a severity as well as a code.
 *
 * @returns `undefined` when the error does not come from the server
 */
export function prisma8Code(error: unknown): string | undefined {
  for (const { code, severity } of withCauses(error)) {
    if (typeof severity === 'string' && typeof code === 'string' && SQLSTATE.test(code))
      return postgresCode(code)
  }
  return undefined
}

/** Whether an error thrown by Prisma 8 proves that no statement was sent. */
export function prisma8NotSent(error: unknown): boolean {
  return [...withCauses(error)].some((cause) => drivers.postgres.notSent(cause))
}

/** Whether it is useless to repeat a statement that was not sent: also if the contract does not fit the database. */
function prisma8Lasts(error: unknown): boolean {
  const isOfContract = String((error as ErrorLike | undefined)?.code).startsWith('CONTRACT.')
  return (
    (isOfContract && !prisma8NotSent(error)) ||
    [...withCauses(error)].some((cause) => drivers.postgres.lasts(cause))
  )
}

function* withCauses(error: unknown): Generator<ErrorLike> {
  for (let current = error as ErrorLike | undefined; current; current = current.cause) yield current
}
