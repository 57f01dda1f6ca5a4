import { applyDecorators, Injectable, SetMetadata } from '@nestjs/common'
import { Interval } from '@nestjs/schedule'
import { SchedulerLock } from '../../../src/nestjs'
import { Job, type JobCase } from '../job'

@Injectable()
class Inside extends Job {
  @Interval(5)
  @SchedulerLock({ name: 'job' })
  run(): void {
    this.note()
  }
}

@Injectable()
class Outside extends Job {
  @SchedulerLock({ name: 'job' })
  @Interval(5)
  run(): void {
    this.note()
  }
}

@Injectable()
class Between extends Job {
  @SetMetadata('a', 1)
  @SchedulerLock({ name: 'job' })
  @Interval(5)
  @SetMetadata('b', 2)
  run(): void {
    this.note()
  }
}

@Injectable()
class AppliedLast extends Job {
  @applyDecorators(Interval(5), SchedulerLock({ name: 'job' }))
  run(): void {
    this.note()
  }
}

@Injectable()
class AppliedFirst extends Job {
  @applyDecorators(SchedulerLock({ name: 'job' }), Interval(5))
  run(): void {
    this.note()
  }
}

@Injectable()
class Inherited extends Outside {}

@Injectable()
class InheritedApplied extends AppliedLast {}

@Injectable()
class Overridden extends Outside {
  @Interval(5)
  @SchedulerLock({ name: 'job' })
  override run(): void {
    this.note()
  }
}

@Injectable()
class CallsSuper extends Inside {
  @Interval(5)
  override run(): void {
    super.run()
  }
}

export const jobs: readonly JobCase[] = [
  { how: '@Interval @SchedulerLock', job: Inside },
  { how: '@SchedulerLock @Interval', job: Outside },
  { how: '@SchedulerLock between others', job: Between },
  { how: 'applyDecorators(Interval, SchedulerLock)', job: AppliedLast },
  { how: 'applyDecorators(SchedulerLock, Interval)', job: AppliedFirst },
  { how: 'inherited', job: Inherited },
  { how: 'inherited from applyDecorators', job: InheritedApplied },
  { how: 'overridden and locked again', job: Overridden },
  { how: 'overridden, calls super', job: CallsSuper },
]
