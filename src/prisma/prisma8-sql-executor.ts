import { DriverError, type Row, type SqlExecutor, type Statement, type Values } from '../sql'
import type { Prisma8Queryable, RawTag } from './prisma8-client-like'
import { prisma8NativeCode } from './prisma8-native-code'

/** Gives the work a scope whose statements run in no transaction of the app. */
export type UsePrisma8 = <T>(work: (scope: Prisma8Queryable) => Promise<T>) => Promise<T>

/**
 * Prisma 8's `lints` look for the word in every raw text that has a SELECT in it; with `noLimit: 'error'` they would
 * refuse to free a lock.
 */
const FOR_LINTS = ' /* one row, no limit */'

/** Runs each statement as a plan of the raw lane. */
export function prisma8SqlExecutor(tag: RawTag, use: UsePrisma8): SqlExecutor {
  const run = async <T>(
    statement: Statement,
    values: Values,
    call: (scope: Prisma8Queryable, plan: never) => PromiseLike<T>,
  ): Promise<T> => {
    const plan = prisma8Plan(tag, statement, values)
    try {
      return await use(async (scope) => call(scope, plan))
    } catch (error) {
      throw new DriverError(prisma8NativeCode(error), error)
    }
  }

  return {
    execute: async (statement, values) =>
      (await run(statement, values, (scope, plan) => scope.execute(plan))).affectedRows,
    query: async (statement, values) =>
      (await run(statement, values, (scope, plan) => scope.query(plan))) as Row[],
  }
}

/**
 * A plan of the raw lane has to declare its result. All of ours declare a count: a plan without columns may be queried
 * as well, and its rows come as the driver gives them.
 */
export function prisma8Plan(tag: RawTag, { pieces, parameters }: Statement, values: Values): never {
  const text = [pieces[0] ?? '']
  const bound: (string | number)[] = []
  parameters.forEach((name, hole) => {
    const value = values[name] ?? null
    const next = pieces[hole + 1] ?? ''
    // Prisma has no codec for a null of no type.
    if (value === null) text.push(`${text.pop() ?? ''}null${next}`)
    else {
      bound.push(value)
      text.push(next)
    }
  })
  text.push(`${text.pop() ?? ''}${FOR_LINTS}`)
  return tag(Object.assign(text, { raw: text }), ...bound)
    .affectedCount()
    .build() as never
}
