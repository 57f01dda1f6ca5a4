import type { JobClass, MakeJob } from '../job-class'

/** Returns a class whose method `run` has these decorators, the uppermost first. */
export const jobClass: MakeJob = (decorators, task, Base = Object as unknown as JobClass) => {
  class Job extends Base {
    @composed(decorators)
    override run(): unknown {
      return task(this)
    }
  }
  return Job
}

function composed(decorators: readonly MethodDecorator[]): MethodDecorator {
  return (target, key, descriptor) => {
    for (const decorate of [...decorators].reverse()) decorate(target, key, descriptor)
  }
}
