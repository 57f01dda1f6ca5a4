import { types } from 'node:util'
import type { ModulesContainer } from '@nestjs/core'

/** The modules of one Nest application. */
export type Modules = Pick<ModulesContainer, 'values'>

/** What the application made, and the token under which it is provided. */
export interface ApplicationInstance {
  readonly token: unknown
  readonly instance: object
  /** Whether it is there for the whole application, and not for a request. */
  readonly isStatic: boolean
}

/** The providers and controllers of an application. */
export function* instancesOf(modules: Modules): Iterable<ApplicationInstance> {
  for (const { providers, controllers } of modules.values()) {
    for (const [token, wrapper] of [...providers, ...controllers]) {
      const instance: unknown = wrapper.instance
      if (typeof instance === 'object' && instance !== null)
        yield { token, instance, isStatic: wrapper.isDependencyTreeStatic() }
    }
  }
}

/** Those that can be looked at: a proxy may stand for something that is not there yet, and throw. */
export function* plainInstancesOf(modules: Modules): Iterable<object> {
  for (const { instance } of instancesOf(modules)) if (!types.isProxy(instance)) yield instance
}
