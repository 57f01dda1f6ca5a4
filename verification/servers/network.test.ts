import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { expect, it } from '@jest/globals'
import { afterTest } from '../../test/after-test'
import { listening } from '../../test/listening'
import { Network } from './network'

it.each([
  ['PostgreSQL', Buffer.from('update "shedlock" set'), 'cut'],
  ['SQL Server, whose statements are in UTF-16', Buffer.from('update [shedlock] set', 'utf16le'), 'cut'],
  ['Oracle, whose names are in upper case', Buffer.from('update "SHEDLOCK" set'), 'cut'],
  ["a task's own statement", Buffer.from('update task_resource set', 'utf16le'), 'answered'],
])('the network recognises a statement about a lock: %s', async (_database, request, outcome) => {
  const port = await listening(createServer((socket) => socket.on('error', () => undefined).pipe(socket)))
  const network = await Network.listen(port)
  afterTest(() => network.close())
  network.disturb(() => ({ cut: true }))
  const client = connect(network.port, '127.0.0.1').on('error', () => undefined)
  client.write(request)
  const answered = once(client, 'data').then(() => 'answered')
  expect(await Promise.race([answered, once(client, 'close').then(() => 'cut')])).toBe(outcome)
  client.destroy()
})
