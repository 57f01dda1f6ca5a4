import { Module, type DynamicModule, type Provider } from '@nestjs/common'
import type { Modules } from './lock-providers'

/* oxlint-disable typescript/no-extraneous-class -- Nest's modules are classes */
class ShedLockFarthestModule {}
class ShedLockNearestModule {}
/* oxlint-enable typescript/no-extraneous-class */

/**
 * Nest calls a hook module by module, in the order of their distance to the root module. All versions initialise the farthest module
 * first; Nest 10 also destroys it first, but Nest 11 and 12 begin with the nearest.
 */
const DISTANCES: ReadonlyMap<unknown, number> = new Map([
  [ShedLockFarthestModule, Infinity],
  [ShedLockNearestModule, -Infinity],
])

for (const module of DISTANCES.keys()) {
  Module({})(module as typeof ShedLockFarthestModule)
  // Nest logs the name of each module.
  Object.defineProperty(module, 'name', { value: 'ShedLockModule' })
}

/** Creates two modules with this provider. Its first hook is called before those of all other modules, whichever it is. */
export function outermostModules(provider: Provider): DynamicModule[] {
  return Array.from(DISTANCES.keys(), (module) => ({
    module: module as typeof ShedLockFarthestModule,
    providers: [provider],
  }))
}

/** Moves these modules to both ends of the order. Call it before Nest calls the first hook, because Nest then keeps the order. */
export function moveOutermost(modules: Modules): void {
  for (const module of modules.values()) module.distance = DISTANCES.get(module.metatype) ?? module.distance
}
