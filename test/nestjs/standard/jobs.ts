import { Injectable } from '@nestjs/common'
import { Interval } from '@nestjs/schedule'
import { SchedulerLock } from '../../../src/nestjs'
import { Job, type JobCase } from '../job'

type MethodDecorator = (method: () => void, context: ClassMethodDecoratorContext) => void

/** Nest's types know only legacy decorators; what they do works with both. */
const every5Milliseconds = Interval(5) as unknown as MethodDecorator

@Injectable()
class Inside extends Job {
  @every5Milliseconds
  @SchedulerLock({ name: 'job' })
  run(): void {
    this.note()
  }
}

@Injectable()
class Outside extends Job {
  @SchedulerLock({ name: 'job' })
  @every5Milliseconds
  run(): void {
    this.note()
  }
}

@Injectable()
class Inherited extends Outside {}

@Injectable()
class Overridden extends Outside {
  @every5Milliseconds
  @SchedulerLock({ name: 'job' })
  override run(): void {
    this.note()
  }
}

@Injectable()
class CallsSuper extends Inside {
  @every5Milliseconds
  override run(): void {
    super.run()
  }
}

export const jobs: readonly JobCase[] = [
  { how: '@Interval @SchedulerLock', job: Inside },
  { how: '@SchedulerLock @Interval', job: Outside },
  { how: 'inherited', job: Inherited },
  { how: 'overridden and locked again', job: Overridden },
  { how: 'overridden, calls super', job: CallsSuper },
]
