import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, it } from '@jest/globals'
import { afterTest } from '../../after-test'
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

/** Opens a connection and sends a request. */
function request(host = '127.0.0.1', port = proxy.port): Socket {
  const client = connect(port, host)
  client.on('error', () => undefined).write('request')
  return client
}

it('vanishes: connections wait to be opened until it is back', async () => {
  await proxy.vanish(true)
  const client = request()
  expect(await Promise.race([once(client, 'connect'), sleep(500, 'swallowed')])).toBe('swallowed')
  await proxy.vanish(false)
  expect(String(await once(client, 'data'))).toBe('request')
  client.destroy()
})

it('is mute: connections are accepted and never answered, but later ones are', async () => {
  proxy.mute(true)
  const silent = request()
  await once(silent, 'connect')
  const [accepted] = [proxy.opened]
  proxy.mute(false)
  const client = request()
  expect(String(await once(client, 'data'))).toBe('request')
  expect(silent.bytesRead).toBe(0)
  expect([accepted, proxy.opened, proxy.open]).toEqual([1, 2, 2])
  silent.destroy()
  client.destroy()
})
