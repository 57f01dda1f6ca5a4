import type { Type } from '@nestjs/common'
import { jest } from '@jest/globals'

export type JobClass = Type<{ run(): unknown }>

/** @param Base what the class extends; its method may be overridden */
export type MakeJob = (
  decorators: readonly MethodDecorator[],
  task: (self: object) => unknown,
  Base?: JobClass,
) => JobClass

/** A folder is compiled as its tsconfig.json says, so the path must not make it part of this one. */
export const jobClassWith = (decorators: string): MakeJob =>
  jest.requireActual<{ jobClass: MakeJob }>(`./${decorators}/job-class.ts`).jobClass
