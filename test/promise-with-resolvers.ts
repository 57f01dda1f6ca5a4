export interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
}

/** `Promise.withResolvers`, which Node 20 does not have yet. */
export function promiseWithResolvers<T = void>(): PromiseWithResolvers<T> {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((fulfil) => (resolve = fulfil))
  return { promise, resolve }
}
