import { LockError } from '../core'
import type { DialectName } from '../sql'
import { PRISMA_8_DIALECTS } from './client-dialects'

/** What this library uses of Prisma 8's client: `db`, as `postgres()` of `@prisma/orm-postgres/runtime` makes it. */
export interface Prisma8ClientLike {
  readonly contract: { readonly target: string }
  readonly raw: { readonly sql: RawTag }
  /** Runs plans on connections of the pool. */
  runtime(): Prisma8RuntimeLike
}

/** What this library uses of `db.runtime()`. */
export interface Prisma8RuntimeLike extends Prisma8Queryable {
  /** Lends a connection of the pool. */
  connection(): PromiseLike<Prisma8Connection>
}

/** What this library uses of any of Prisma 8's scopes: the runtime, one connection of it, or `tx` of `db.transaction`. */
export interface Prisma8Queryable {
  /** Runs a plan that tells how many rows it changed. */
  execute(plan: never): PromiseLike<{ readonly affectedRows: number }>
  /** Runs a plan that tells rows. */
  query(plan: never): PromiseLike<unknown>
}

/** The `tx` that `db.transaction` passes to its callback. */
export interface Prisma8TransactionLike extends Prisma8Queryable {
  readonly invalidated: boolean
}

/** A connection that was lent. */
export interface Prisma8Connection extends Prisma8Queryable {
  /** Gives it back. */
  release(): PromiseLike<void>
}

/** `db.raw.sql`: SQL as a template whose holes are bound. It leads to a plan, which any scope can run. */
export type RawTag = (
  text: TemplateStringsArray,
  ...values: (string | number)[]
) => {
  /** A plan that tells how many rows it changed. */
  affectedCount(): {
    /** Makes the plan. */
    build(): unknown
  }
}

/** By what no client of Prisma 6 or 7 has, whatever its models are called. */
export function isPrisma8(client: unknown): client is Partial<Prisma8ClientLike> {
  const { contract } = (client ?? {}) as Partial<Prisma8ClientLike>
  return typeof contract?.target === 'string'
}

export function isPrisma8Transaction(client: unknown): client is Prisma8TransactionLike {
  const { invalidated } = (client ?? {}) as Partial<Prisma8TransactionLike>
  return typeof invalidated === 'boolean'
}

/**
 * @returns the dialect of its database
 * @throws LockError `INVALID_CLIENT`
 */
export function checkedPrisma8(client: Partial<Prisma8ClientLike>): [Prisma8ClientLike, DialectName] {
  const { contract: { target = '' } = {}, raw, runtime } = client
  const dialect = PRISMA_8_DIALECTS[target]
  if (!dialect) {
    throw new LockError(
      'INVALID_CLIENT',
      `A client of Prisma 8 for '${target}' cannot keep locks yet – supported is ${Object.keys(PRISMA_8_DIALECTS).join(', ')}.`,
    )
  }
  if (typeof runtime !== 'function') {
    throw new LockError(
      'INVALID_CLIENT',
      "This part of Prisma 8 has no runtime() – give the db itself, as '@prisma/orm-postgres/runtime' makes it. (One of '…/serverless' has a connection for one request only.)",
    )
  }
  if (typeof raw?.sql !== 'function') {
    throw new LockError(
      'INVALID_CLIENT',
      'This client of Prisma 8 has no raw.sql – install @prisma/orm-postgres 8.0.0-rc.13 or later.',
    )
  }
  return [client as Prisma8ClientLike, dialect]
}
