import { found } from './global-setup'

/** Stops the servers that the run started. */
export default async function globalTeardown(): Promise<void> {
  await found.stop?.()
}
