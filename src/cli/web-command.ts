import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { lockPage, nodeHandler } from '../web'
import { wrongUsage } from './command-error'
import { announce, onDatabase } from './connect'
import { addLimit, type Limits } from './lock-commands'
import { whoAmI } from './operate-commands'
import { print, warn } from './output'

export function addWebCommand(program: Command): void {
  const web = program
    .command('web')
    .argument('[limits...]', 'name=duration: how long ago each lock may have been acquired last', addLimit)
    .usage('[<name>=<duration>...] [options]')
    .summary('show the locks in a browser')
    .description(
      'Serves a page with the locks on 127.0.0.1 until Ctrl-C, and prints its address. The address contains a secret: anyone who has it can see the page.',
    )
  const options = ['write', 'pausedBy', 'port', 'title'] as const
  onDatabase(web, options, async (connection, flags, limits: Limits) => {
    const { provider } = connection
    const { write, pausedBy = whoAmI(), port, title } = flags
    // What is wrong with the table is an error here, and not on the page.
    await provider.table.list()
    if (title !== undefined) warn(title)
    await announce(connection)
    const path = `/${randomBytes(24).toString('base64url')}`
    const page = lockPage(provider, {
      authorize: ({ url }) => isSame(new URL(url).pathname, path) && { user: pausedBy },
      readOnly: !write,
      title,
      // Without any this is an empty array, which has no entries either.
      overdueAfter: limits,
    })
    const handle = nodeHandler(page)
    const server = createServer((request, response) => void handle(request, response))
    await serve(server, port ?? 0, path)
  })
}

async function serve(server: ReturnType<typeof createServer>, port: number, path: string): Promise<void> {
  const ended = Promise.race((['SIGINT', 'SIGTERM'] as const).map((signal) => once(process, signal)))
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch (error) {
    throw wrongUsage(
      `Port ${port} cannot be used: ${(error as Error).message} – choose another, or leave --port out.`,
    )
  }
  print(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
  warn('Press Ctrl-C to stop.')
  await ended
  server.close()
}

function isSame(one: string, other: string): boolean {
  const [given, expected] = [Buffer.from(one), Buffer.from(other)]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
