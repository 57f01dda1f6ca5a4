import type { Type } from '@nestjs/common'

export type JobClass = Type<{ run(): unknown }>

/**
 * Returns a class whose method `run` has these decorators, the uppermost first.
 *
 * @param Base what the class extends; its method may be overridden
 */
export function jobClass(
  decorators: readonly MethodDecorator[],
  task: (self: object) => unknown,
  Base = Object as unknown as JobClass,
): JobClass {
  class Job extends Base {
    override run(): unknown {
      return task(this)
    }
  }
  const run: PropertyDescriptor = Object.getOwnPropertyDescriptor(Job.prototype, 'run') ?? {}
  // What the compiler makes of the syntax.
  for (const decorate of [...decorators].reverse()) decorate(Job.prototype, 'run', run)
  Object.defineProperty(Job.prototype, 'run', run)
  return Job
}
