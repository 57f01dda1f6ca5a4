import { findBackends } from '../backends/find-backends'
import { generateClients } from '../prisma/generate-clients'

/** For the global teardown, which runs in the same process. */
export const found: Partial<Awaited<ReturnType<typeof findBackends>>> = {}

/** Finds the backends once for the whole run. What it found reaches the test files through the environment. */
export default async function globalSetup(): Promise<void> {
  Object.assign(found, await findBackends())
  process.env['FOUND_BACKENDS'] = JSON.stringify(found.backends)
  await generateClients()
}
