import { drivers, postgresCode, sqlExecutor } from '../../drivers/internal'
import type { SqlRow, SqlExecutor } from '../../sql/internal'

/** What this library uses of Prisma 8's client: `db`, as `postgres()` of `@prisma/orm-postgres/runtime` makes it. */
export interface Prisma8ClientLike {
  readonly contract: { readonly target: string }
  readonly raw: {
    /** SQL as a template whose values are bound. It leads to a plan, which any scope can run. */
    readonly sql: (
      text: TemplateStringsArray,
      ...values: (string | number)[]
    ) => {
      /** A plan that tells how many rows it changed. */
      affectedCount(): {
        /** Makes the plan. */
        build(): unknown
      }
    }
  }
  /** Runs plans on connections of the pool, or lends one. */
  runtime(): Prisma8ScopeLike & {
    /** Lends a connection of the pool. */
    connection(): PromiseLike<
      Prisma8ScopeLike & {
        /** Returns it to the pool. */
        release(): PromiseLike<void>
      }
    >
  }
}

/** What this library uses of any of Prisma 8's scopes: the runtime, one connection of it, or `tx` of `db.transaction`. */
export interface Prisma8ScopeLike {
  /** Runs a plan that tells how many rows it changed. */
  execute(plan: never): PromiseLike<{ readonly affectedRows: number }>
  /** Runs a plan that tells rows. */
  query(plan: never): PromiseLike<unknown>
}

/** The `tx` that `db.transaction` passes to its callback. */
export interface Prisma8TransactionLike extends Prisma8ScopeLike {
  readonly invalidated: boolean
}

/** `db.raw.sql` */
export type RawTag = Prisma8ClientLike['raw']['sql']

/** Calls the work with a scope whose statements run in no transaction of the app. */
export type UseScope = <T>(work: (scope: Prisma8ScopeLike) => Promise<T>) => Promise<T>

/** In no text of a statement, whatever the names in it are. */
const PLACEHOLDER = '\0'

/** Runs each statement as a plan of the raw lane. */
export function prisma8SqlExecutor(tag: RawTag, use: UseScope): SqlExecutor {
  const { inAscii } = drivers.postgres
  const driver = { placeholder: () => PLACEHOLDER, inAscii, errorCode: prisma8Code, notSent: prisma8NotSent }
  return sqlExecutor(driver, (text, values, _, wants) => {
    const plan = planOf(tag, text, values)
    return use(async (scope) =>
      wants === 'rows'
        ? { rows: (await scope.query(plan)) as SqlRow[], changed: undefined }
        : { rows: [], changed: (await scope.execute(plan)).affectedRows },
    )
  })
}

/**
 * A connection of its own for each statement, in autocommit. Not the runtime itself: where the app gave one `pg.Client`
 * instead of a pool, its statements would join the open transaction; a connection waits until that is over.
 */
export function ownConnection(db: Prisma8ClientLike): UseScope {
  let markerRead = false
  return async (work) => {
    const runtime = db.runtime()
    if (!markerRead) {
      // The first statement of a runtime reads the contract's marker, on another connection: in a pool of one it would
      // wait for ours.
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

/** A connection that cannot be returned changes nothing of what its statement did: that, or its error, is the one to report. */
async function returned(connection: { release(): PromiseLike<void> }): Promise<void> {
  try {
    await connection.release()
  } catch {
    // The pool has ended, or the connection is broken.
  }
}

/**
 * Prisma 8's `lints` look for the word in every raw text that has a SELECT in it; with `noLimit: 'error'` they would
 * refuse to release a lock.
 */
const FOR_LINTS = ' /* one row, no limit */'

/**
 * A plan of the raw lane has to declare its result. All of ours declare a count: a plan without columns may be queried
 * as well, and its rows come as the driver gives them.
 */
function planOf(tag: RawTag, text: string, values: readonly (string | number | null)[]): never {
  const [first = '', ...others] = `${text}${FOR_LINTS}`.split(PLACEHOLDER)
  const pieces = [first]
  const bound: (string | number)[] = []
  others.forEach((piece, index) => {
    const value = values[index] ?? null
    // Prisma has no codec for a null of no type.
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

/** What Prisma 8 throws: in the chain of its causes, what `pg` threw. */
interface ErrorLike {
  readonly code?: unknown
  readonly severity?: unknown
  readonly cause?: ErrorLike
}

const SQLSTATE = /^[0-9A-Z]{5}$/

/**
 * The server's code for an error that Prisma 8 passed on. Not its `sqlState`, which is whatever code has five letters,
 * `EPIPE` of Node.js included: what the server answered has a severity beside its code.
 *
 * @returns `undefined` when the error is not an answer of the server
 */
export function prisma8Code(error: unknown): string | undefined {
  for (const { code, severity } of chain(error)) {
    if (typeof severity === 'string' && typeof code === 'string' && SQLSTATE.test(code))
      return postgresCode(code)
  }
  return undefined
}

/** Whether it is certain from an error that Prisma 8 passed on that no statement was sent. */
export function prisma8NotSent(error: unknown): boolean {
  return [...chain(error)].some((each) => drivers.postgres.notSent(each))
}

function* chain(error: unknown): Generator<ErrorLike> {
  for (let each = error as ErrorLike | undefined; each; each = each.cause) yield each
}
