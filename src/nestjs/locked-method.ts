import { executorsOf } from './executors-of-instance'
import { defaultsOf } from './scheduler-lock-defaults.decorator'
import { configuredFor, type SchedulerLockOptions } from './scheduler-lock-options'

export type Method = (this: object, ...args: never[]) => unknown

const OPTIONS = Symbol.for('shedlock-orm.options')

/** The method under its lock. Name, length and metadata stay the method's own. */
export function lockedMethod(method: Method, options: SchedulerLockOptions): Method {
  const locked: Method = async function (...args) {
    const executors = executorsOf(this, method.name)
    const { name, slot, provider, catchUp, ...configuration } = configuredFor(this, {
      ...defaultsOf(this),
      ...options,
    })
    const lockName = typeof name === 'function' ? name.apply(this, args) : name
    const due = slot ? slot.apply(this, args) : slot === false ? undefined : executors.slotOf(locked)
    const result = await executors
      .get(provider)
      .executeWithLock({ ...configuration, name: lockName, slot: due }, () => method.apply(this, args))
    return result.executed ? result.value : undefined
  }
  // Nest keeps metadata on the function, and looks it up along the prototypes: those set before are inherited.
  Object.setPrototypeOf(locked, method)
  for (const property of ['name', 'length'] as const) {
    Object.defineProperty(locked, property, { value: method[property], configurable: true })
  }
  return Object.defineProperty(locked, OPTIONS, { value: options })
}

export function isLockedMethod(method: object): boolean {
  return OPTIONS in method
}

/** The locked methods of an instance, its superclasses' too, as they are configured. */
export function lockedMethodsOf(instance: object): ReadonlyMap<string, SchedulerLockOptions> {
  const methods = new Map<string, SchedulerLockOptions>()
  for (let prototype: unknown = instance; prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      const options = (value as { [OPTIONS]?: SchedulerLockOptions } | null | undefined)?.[OPTIONS]
      if (options && !methods.has(key)) methods.set(key, { ...defaultsOf(instance), ...options })
    }
  }
  return methods
}
