import type { Type } from '@nestjs/common'
import type { WrappedJob } from '../wrappers'

/** Returns a class whose method `run` has these decorators, the uppermost first. */
export function wrappedJob(decorators: readonly MethodDecorator[], task: () => unknown): Type<WrappedJob> {
  class Job {
    @composed(decorators)
    run(): unknown {
      return task()
    }
  }
  return Job
}

function composed(decorators: readonly MethodDecorator[]): MethodDecorator {
  return (target, key, descriptor) => {
    for (const decorate of [...decorators].reverse()) decorate(target, key, descriptor)
  }
}
