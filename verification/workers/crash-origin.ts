import { promiseHooks } from 'node:v8'

const createdAt = new WeakMap<Promise<unknown>, string>()

/** Records the stack of each promise that is created from now on. */
export function rememberWherePromisesAreMade(): void {
  promiseHooks.onInit((promise) => {
    createdAt.set(promise, new Error().stack ?? '')
  })
}

/**
 * Returns who is responsible for an unhandled error: drivers throw in their sockets' event handlers, and create promises that they do
 * not handle.
 */
export function originOf(error: Error, promise?: Promise<unknown>): 'library' | 'driver' {
  const stack = (promise ? createdAt.get(promise) : error.stack) ?? ''
  const places = stack.split('\n').slice(1)
  const isTheirs = (place: string): boolean => place.includes('node_modules')
  const isOurs = (place: string): boolean => place.includes('/src/') && !isTheirs(place)
  return places.some(isTheirs) && !places.some(isOurs) ? 'driver' : 'library'
}
