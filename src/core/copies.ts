/**
 * A process may load this package more than once: as CommonJS and as ES modules, or two installed copies. What they share is
 * kept under a name. Another version may use it: if its shape changes, so must its name.
 */
export function sharedByEveryCopy<T>(name: string, make: () => T): T {
  const shared = globalThis as Record<symbol, T | undefined>
  return (shared[Symbol.for(`shedlock-orm.${name}`)] ??= make())
}

type AnyClass = abstract new (...parameters: never[]) => object

/** Makes `instanceof` of a class recognise the objects of every copy. A subclass recognises its own alone, as usual. */
export function recogniseEveryCopy(theClass: AnyClass, name: string): void {
  const mark = Symbol.for(`shedlock-orm.${name}`)
  Object.defineProperty(theClass.prototype, mark, { value: true })
  Object.defineProperty(theClass, Symbol.hasInstance, {
    value(this: AnyClass, value: unknown) {
      return this === theClass
        ? typeof value === 'object' && value !== null && mark in value
        : Function.prototype[Symbol.hasInstance].call(this, value)
    },
  })
}
