import { drivers, postgresCode, sqlClient } from '../drivers/internal'
import type { SqlRow, SqlClient } from '../sql/internal'

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
  execute(plan: never): PromiseLike<{ readonly affectedRows: number }>
  /** Runs a plan and returns its rows. */
  query(plan: never): PromiseLike<unknown>
  readonly invalidated: boolean
}

/** A scope: the runtime, one of its connections, or the `tx` of `db.transaction`. */
type Scope = Pick<Prisma8TransactionLike, 'execute' | 'query'>

/** `db.raw.sql` */
export type RawTag = Prisma8ClientLike['raw']['sql']

/** Calls the work with a scope whose statements never join a transaction of the app. */
export type UseScope = <T>(work: (scope: Scope) => Promise<T>) => Promise<T>

/** A character that occurs in no statement, whatever the names in it are. */
const PLACEHOLDER = '\0'

/** Runs each statement as a raw SQL plan. */
export function prisma8SqlClient(tag: RawTag, use: UseScope): SqlClient {
  const { inAscii } = drivers.postgres
  const driver = {
    placeholder: () => PLACEHOLDER,
    inAscii,
    errorCode: prisma8Code,
    notSent: prisma8NotSent,
    lasts: prisma8Lasts,
  }
  return sqlClient(driver, (text, values, _, wants) => {
    const plan = planOf(tag, text, values)
    return use(async (scope) =>
      wants === 'rows'
        ? { rows: (await scope.query(plan)) as SqlRow[] }
        : { rows: [], changed: (await scope.execute(plan)).affectedRows },
    )
  })
}

/**
 * Borrows a connection for each statement, which runs in autocommit. On the runtime itself, statements would join the app's open
 * transaction if the app passed one `pg.Client` instead of a pool; a borrowed connection waits until that transaction has ended.
 */
export function ownConnection(db: Prisma8ClientLike): UseScope {
  let markerRead = false
  return async (work) => {
    const runtime = db.runtime()
    if (!markerRead) {
      // A runtime's first statement reads the contract's marker on another connection. In a pool of one, it would wait for ours
      // forever, so trigger that before a connection is borrowed.
      await runtime.query(planOf(db.raw.sql, 'select 1', []))
      markerRead = true
    }
    const connection = await runtime.connection()
    try {
      return await work(connection)
    } finally {
      await returned(connection)
    }
  }
}

/** Returns the connection to its pool. Ignores errors, so that the caller reports the statement's result or its error instead. */
async function returned(connection: { release(): PromiseLike<void> }): Promise<void> {
  try {
    await connection.release()
  } catch {
    // The pool has ended, or the connection is broken.
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
function planOf(tag: RawTag, text: string, values: readonly (string | number | null)[]): never {
  const [first = '', ...others] = `${text}${FOR_LINTS}`.split(PLACEHOLDER)
  const pieces = [first]
  const bound: (string | number)[] = []
  others.forEach((piece, index) => {
    const value = values[index] ?? null
    // Prisma has no codec for an untyped null.
    if (value === null) pieces.push(`${pieces.pop() ?? ''}null${piece}`)
    else {
      bound.push(value)
      pieces.push(piece)
    }
  })
  return tag(Object.assign(pieces, { raw: pieces }), ...bound)
    .affectedCount()
    .build() as never
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

/** Whether it is useless to repeat a statement that was not sent. */
function prisma8Lasts(error: unknown): boolean {
  return [...withCauses(error)].some((cause) => drivers.postgres.lasts(cause))
}

function* withCauses(error: unknown): Generator<ErrorLike> {
  for (let current = error as ErrorLike | undefined; current; current = current.cause) yield current
}
