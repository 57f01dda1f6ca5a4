import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { afterTest } from './after-test'

/** Starts a server on loopback, and closes it after the test, or when `after` says. @returns its port */
export async function listening(server: Server, after = afterTest): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  after(() => server.close())
  return (server.address() as AddressInfo).port
}
