import type { Type } from '@nestjs/common'
import { activeLock } from '../../src/core/internal'

/** Every job of the fixtures notes under which lock it ran. */
export abstract class Job {
  readonly ranUnder: (string | undefined)[] = []

  abstract run(): unknown

  note(): void {
    this.ranUnder.push(activeLock()?.name)
  }
}

export interface JobCase {
  readonly how: string
  readonly job: Type<Job>
}
