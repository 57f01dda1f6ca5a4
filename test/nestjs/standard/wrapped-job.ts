import type { Type } from '@nestjs/common'
import type { WrappedJob } from '../wrappers'

type Method = (this: unknown) => unknown
type StandardDecorator = (method: Method, context: ClassMethodDecoratorContext) => Method | undefined

/** Returns a class whose method `run` has these decorators, the uppermost first. */
export function wrappedJob(decorators: readonly MethodDecorator[], task: () => unknown): Type<WrappedJob> {
  class Job {
    @composed(decorators as unknown as StandardDecorator[])
    run(): unknown {
      return task()
    }
  }
  return Job
}

function composed(decorators: readonly StandardDecorator[]) {
  return (method: Method, context: ClassMethodDecoratorContext): Method =>
    decorators.reduceRight((inner, decorate) => decorate(inner, context) ?? inner, method)
}
