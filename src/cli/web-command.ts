import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { lockPage, nodeHandler } from '../web'
import { CommandError, ExitCode } from './command-error'
import { addConnectionOptions, withConnection, type ConnectionFlags } from './connect'
import { addLimit } from './lock-commands'
import { addOptions } from './options'
import { print, warn } from './output'

interface WebFlags extends ConnectionFlags {
  readonly port?: number
  readonly write?: boolean
}

export function addWebCommand(program: Command): void {
  const web = program
    .command('web')
    .argument(
      '[limits...]',
      'name=duration: how long ago each lock was to be acquired at the latest',
      addLimit,
    )
    .usage('[<name>=<duration>...] [options]')
    .summary('show the locks in a browser')
    .description(
      'Serves a page of the locks on loopback until Ctrl-C, and prints its address, which has a secret in it: whoever has the address may see the page.',
    )
  addOptions(web, 'write', 'port')
  addConnectionOptions(web).action((given: Record<string, string> | [], flags: WebFlags) =>
    withConnection(flags, async ({ provider }) => {
      // What is wrong with the table is told here, and not on the page.
      await provider.listLocks()
      const path = `/${randomBytes(24).toString('base64url')}`
      const page = lockPage(provider, {
        authorize: ({ url }) => isSame(new URL(url).pathname, path),
        readOnly: !flags.write,
        limits: Array.isArray(given) ? {} : given,
      })
      const handle = nodeHandler(page)
      const server = createServer((request, response) => void handle(request, response))
      await serve(server, flags.port ?? 0, path)
    }),
  )
}

async function serve(server: ReturnType<typeof createServer>, port: number, path: string): Promise<void> {
  const ended = Promise.race((['SIGINT', 'SIGTERM'] as const).map((signal) => once(process, signal)))
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch (error) {
    throw new CommandError(ExitCode.usage, `Port ${port} cannot be used: ${(error as Error).message}`)
  }
  print(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
  warn('Ctrl-C ends it.')
  await ended
  server.close()
  server.closeAllConnections()
}

function isSame(one: string, other: string): boolean {
  const [given, expected] = [Buffer.from(one), Buffer.from(other)]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
