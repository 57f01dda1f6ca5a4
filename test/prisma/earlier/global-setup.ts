import setUp from '../../jest/global-setup'
import { generateEarlierClients } from './generate'

/** Finds the backends, and generates the clients of an earlier Prisma. */
export default async function globalSetup(): Promise<void> {
  await Promise.all([setUp(), generateEarlierClients()])
}
