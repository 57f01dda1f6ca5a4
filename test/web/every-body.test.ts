import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { it } from '@jest/globals'
import { afterTest } from '../after-test'
import { expectEveryBodyAnswered } from './every-body'

/** What an app may do with a body before it calls the page; `left` is for a parser that leaves anything. */
type Parser = (incoming: IncomingMessage, left: unknown) => Promise<unknown>

const leave = (incoming: IncomingMessage, body: unknown) => Object.assign(incoming, { body })

const PARSERS: readonly { readonly parser: string; readonly parse: Parser; readonly ofForm?: number }[] = [
  { parser: 'no parser', parse: () => Promise.resolve() },
  {
    parser: 'a parser of JSON, and of forms',
    parse: async (incoming) => {
      const body = await text(incoming)
      try {
        leave(incoming, JSON.parse(body))
      } catch {
        leave(incoming, Object.fromEntries(new URLSearchParams(body)))
      }
    },
  },
  {
    parser: 'a parser that leaves the bytes',
    parse: async (incoming) => leave(incoming, await buffer(incoming)),
  },
  { parser: 'a parser that leaves nothing', parse: (incoming) => text(incoming), ofForm: 400 },
  {
    parser: 'a parser that leaves anything',
    parse: async (incoming, left) => {
      await text(incoming)
      leave(incoming, left)
    },
  },
]

it.each(PARSERS)('every body is answered behind $parser', async ({ parse, ofForm }) => {
  await expectEveryBodyAnswered(
    async (handle, left) => {
      const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
        await parse(incoming, left())
        await handle(incoming, outgoing)
      }
      const server = createServer((incoming, outgoing) => void answer(incoming, outgoing))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      afterTest(() => server.close())
      return (server.address() as AddressInfo).port
    },
    200,
    ofForm,
  )
})
