import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { beforeEach, expect, it } from '@jest/globals'
import { afterTest } from '../after-test'
import { TcpProxy } from './tcp-proxy'

let proxy: TcpProxy

beforeEach(async () => {
  const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket)).listen(
    0,
    '127.0.0.1',
  )
  afterTest(() => server.close())
  await once(server, 'listening')
  proxy = await TcpProxy.listen((server.address() as AddressInfo).port)
  afterTest(() => proxy.close())
})

/** Sends a request, and returns whether it was answered or the connection was cut. */
async function outcomeOf(request: Buffer): Promise<string> {
  const client = connect(proxy.port, '127.0.0.1')
  client.on('error', () => undefined)
  client.write(request)
  const answer = await Promise.race([
    once(client, 'data').then(() => 'answered'),
    once(client, 'close').then(() => 'cut'),
  ])
  client.destroy()
  return answer
}

it.each([
  ['PostgreSQL', Buffer.from('update "shedlock" set'), 'cut'],
  ['SQL Server, whose statements are in UTF-16', Buffer.from('update [shedlock] set', 'utf16le'), 'cut'],
  ['Oracle, whose names are in upper case', Buffer.from('update "SHEDLOCK" set'), 'cut'],
  ["a task's own statement", Buffer.from('update task_resource set', 'utf16le'), 'answered'],
])('recognises a statement about a lock: %s', async (_database, request, outcome) => {
  proxy.disturb(() => ({ cut: true }))
  expect(await outcomeOf(request)).toBe(outcome)
})
