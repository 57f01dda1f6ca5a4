import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium, type Browser } from 'playwright-core'
import { DataSource } from 'typeorm'
import { typeOrmLockProvider } from '../../../src/typeorm/internal'
import { lockPage, nodeHandler, type LockPageOptions } from '../../../src/web'

/** Debian's. Without these flags it asks for hosts of its maker. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
    ].concat(['--disable-component-update', '--disable-sync']),
  })
}

export type PageServer = Awaited<ReturnType<typeof servePage>>

/** The page on loopback, about a table of its own, for somebody called ann. */
export async function servePage(options: Partial<LockPageOptions<IncomingMessage>> = {}) {
  const dataSource = await new DataSource({ type: 'better-sqlite3', database: ':memory:' }).initialize()
  const provider = typeOrmLockProvider(dataSource)
  await provider.table.create()
  const page = lockPage<IncomingMessage>(provider, {
    authorize: () => ({ user: 'ann' }),
    readOnly: false,
    ...options,
  })
  const handle = nodeHandler(page)
  const server = createServer((request, response) => void handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const time = "strftime('%Y-%m-%d %H:%M:%f', 'now', ?)"
  const row = `INSERT INTO shedlock(name, lock_until, locked_at, locked_by) VALUES (?, ${time}, ${time}, ?)`
  return {
    provider,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/locks`,
    insert: async (name: string, { owner, at, until }: { owner: string; at: number; until: number }) => {
      await dataSource.query(row, [name, `${until} seconds`, `${at} seconds`, owner])
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await dataSource.destroy()
    },
  }
}
