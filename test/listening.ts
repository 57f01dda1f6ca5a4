import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { afterTest } from './after-test'

/** Lets a server listen on loopback, until the test is over or `after` something else. @returns its port */
export async function listening(server: Server, after = afterTest): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  after(() => server.close())
  return (server.address() as AddressInfo).port
}
