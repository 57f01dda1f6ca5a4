import 'reflect-metadata'
import {
  Logger,
  Module,
  type INestApplicationContext,
  type ModuleMetadata,
  type Provider,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ScheduleModule } from '@nestjs/schedule'
import { jest } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import type { ShedLockModuleOptions } from '../../src/nestjs/shed-lock-module-options'
import { ShedLockModule } from '../../src/nestjs/shed-lock.module'
import { afterTest } from '../after-test'

@Module({})
class App {}

/** A Nest application of these modules and providers, which is closed at the end of the test. */
export async function startApplication(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  const application = await NestFactory.createApplicationContext(
    { module: App, ...metadata },
    { logger: false, abortOnError: false },
  )
  afterTest(() => application.close())
  return application
}

/** The module, with locks in memory unless the options name others. */
export const locks = (options: Partial<ShedLockModuleOptions> = {}) =>
  ShedLockModule.forRoot({ lockProvider: new InMemoryLockProvider(), ...options })

/** One with these locks and providers. Jobs without slots may run again at once, and are not warned of. */
export const startWith = (options: Partial<ShedLockModuleOptions>, ...providers: Provider[]) =>
  startApplication({ imports: [locks({ defaultLockAtLeastFor: 0, ...options })], providers })

/** One with these locks, providers and a scheduler. */
export const startScheduler = (options: Partial<ShedLockModuleOptions>, ...providers: Provider[]) =>
  startApplication({ imports: [ScheduleModule.forRoot(), locks(options)], providers })

/** What Nest and the module log during the test, each line after its level. */
export function loggedLines(): string[] {
  const lines: string[] = []
  for (const level of ['log', 'debug', 'warn', 'error'] as const)
    jest.spyOn(Logger.prototype, level).mockImplementation((message: unknown) => {
      lines.push(`${level} ${String(message).replace(/\d+ ms/, '0 ms')}`)
    })
  return lines
}
