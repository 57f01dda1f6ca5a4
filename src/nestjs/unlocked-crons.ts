import { plainInstancesOf, type Modules } from './application-instances'
import { hasCron } from './cron-slot'
import { isLockedMethod } from './locked-method'

/** The methods with `@Cron` and without `@SchedulerLock`, such as `Reports.send`. */
export function unlockedCrons(modules: Modules): string[] {
  const found = new Set<string>()
  for (const instance of plainInstancesOf(modules))
    for (const [name, method] of methodsOf(instance))
      if (hasCron(method) && !isLockedMethod(method)) found.add(`${instance.constructor.name}.${name}`)
  return [...found].sort()
}

/** Those of its class and of its superclasses. */
function methodsOf(instance: object): ReadonlyMap<string, object> {
  const methods = new Map<string, object>()
  let prototype: unknown = Object.getPrototypeOf(instance)
  for (; prototype && prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (typeof value === 'function' && !methods.has(name)) methods.set(name, value as object)
  }
  return methods
}
