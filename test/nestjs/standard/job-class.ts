import type { JobClass, MakeJob } from '../job-class'

type Method = (this: unknown) => unknown
type StandardDecorator = (method: Method, context: ClassMethodDecoratorContext) => Method | undefined

/** Returns a class whose method `run` has these decorators, the uppermost first. */
export const jobClass: MakeJob = (decorators, task, Base = Object as unknown as JobClass) => {
  class Job extends Base {
    @composed(decorators as unknown as StandardDecorator[])
    override run(): unknown {
      return task(this)
    }
  }
  return Job
}

function composed(decorators: readonly StandardDecorator[]) {
  return (method: Method, context: ClassMethodDecoratorContext): Method =>
    decorators.reduceRight((inner, decorate) => decorate(inner, context) ?? inner, method)
}
