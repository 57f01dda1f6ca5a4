import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import * as original from '@nestjs/schedule'

interface Instrumentation {
  init(): { readonly files: readonly { patch(exports: object): { Cron: typeof original.Cron } }[] }
}

/**
 * Returns the `@Cron` that `@sentry/nestjs` puts in place of the original. It does so when CommonJS modules are loaded. Nest 12 has
 * none, so this calls its instrumentation by hand.
 */
function cronOfSentry(): typeof original.Cron {
  const require = createRequire(import.meta.url)
  const file = 'integrations/sentry-nest-schedule-instrumentation.js'
  const { SentryNestScheduleInstrumentation } = require(
    join(dirname(require.resolve('@sentry/nestjs')), file),
  ) as { SentryNestScheduleInstrumentation: new () => Instrumentation }
  const [cronFile] = new SentryNestScheduleInstrumentation().init().files
  return cronFile?.patch({ ...original }).Cron ?? original.Cron
}

export const Cron = process.env['SENTRY'] ? cronOfSentry() : original.Cron
