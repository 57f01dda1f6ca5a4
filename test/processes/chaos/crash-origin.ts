import { promiseHooks } from 'node:v8'

const madeAt = new WeakMap<Promise<unknown>, string>()

/** From now on every promise remembers where it was made. */
export function rememberWherePromisesAreMade(): void {
  promiseHooks.onInit((promise) => {
    madeAt.set(promise, new Error().stack ?? '')
  })
}

/** Who let an error get away: drivers throw out of their sockets' handlers, and leave promises of their own without a handler. */
export function originOf(error: Error, promise?: Promise<unknown>): 'library' | 'driver' {
  const stack = (promise ? madeAt.get(promise) : error.stack) ?? ''
  return stack.includes('node_modules') && !stack.includes('/src/') ? 'driver' : 'library'
}
