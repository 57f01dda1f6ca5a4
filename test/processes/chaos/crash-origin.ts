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
  const places = stack.split('\n').slice(1)
  const isTheirs = (place: string): boolean => place.includes('node_modules')
  const isOurs = (place: string): boolean => place.includes('/src/') && !isTheirs(place)
  return places.some(isTheirs) && !places.some(isOurs) ? 'driver' : 'library'
}
