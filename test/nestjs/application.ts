import 'reflect-metadata'
import { Module, type INestApplicationContext, type ModuleMetadata } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
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
