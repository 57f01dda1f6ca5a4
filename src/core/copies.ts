/**
 * Returns the one value of this name in the process, creating it on first use. A process may load this package more than once: as
 * CommonJS and as ES modules, or as two installed copies. If the shape of a value changes, change its name, because another copy
 * may have another version.
 */
export function sharedByEveryCopy<T>(name: string, create: () => T): T {
  const shared = globalThis as Record<symbol, T | undefined>
  return (shared[Symbol.for(`shedlock-orm.${name}`)] ??= create())
}

type AnyClass = abstract new (...parameters: never[]) => object

/**
 * Makes `instanceof` recognise objects that another copy of the package created. A subclass still recognises only its own
 * instances.
 */
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
