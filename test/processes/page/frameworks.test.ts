import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import formbody from '@fastify/formbody'
import express from 'express'
import type { RequestHandler } from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { describe, it } from '@jest/globals'
import { afterTest } from '../../after-test'
import { expectEveryBodyAnswered, type Listen } from '../../web/fuzzed-bodies'

/** Fewer where the time counts. */
const BODIES = Number(process.env['BODIES'] ?? 1_000)

async function listening(app: RequestListener): Promise<number> {
  const server = createServer(app)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  afterTest(() => server.close())
  return (server.address() as AddressInfo).port
}

/** What a request body is parsed by, and what the page answers to a form then, if not as usual. */
const PARSERS: readonly {
  parser: string
  parsers: (app: typeof express) => RequestHandler[]
  ofForm?: number
}[] = [
  { parser: 'no parser', parsers: () => [] },
  { parser: 'json() and urlencoded()', parsers: (app) => [app.json(), app.urlencoded({ extended: true })] },
  {
    parser: 'json() for every type',
    parsers: (app) => [app.json({ strict: false, type: () => true })],
    ofForm: 400,
  },
  { parser: 'text()', parsers: (app) => [app.text({ type: () => true })] },
  { parser: 'raw()', parsers: (app) => [app.raw({ type: () => true })] },
  {
    parser: 'what leaves nothing',
    parsers: () => [(request, _, next) => void text(request).then(() => next(), next)],
    ofForm: 400,
  },
]

describe.each([
  // Its interface is that of Express 5 here, and it has no types of its own.
  { version: 4, app: createRequire(__filename)('express-4') as typeof express },
  { version: 5, app: express },
])('Express $version answers every body', ({ app }) => {
  it.each(PARSERS)('behind $parser', async ({ parsers, ofForm }) => {
    const listen: Listen = (handle) => {
      const server = app()
      // Its own error handler prints the errors of the parsers.
      server.set('env', 'test')
      server.use('/locks', ...parsers(app), handle)
      return listening(server)
    }
    await expectEveryBodyAnswered(listen, BODIES, ofForm)
  })
})

describe('Fastify answers every body', () => {
  it.each<{
    parser: string
    parse: (server: FastifyInstance, left: () => unknown) => unknown
    ofForm?: number
  }>([
    // Fastify itself parses no forms.
    { parser: 'its own parsers', parse: () => undefined, ofForm: 415 },
    { parser: '@fastify/formbody', parse: (server) => server.register(formbody) },
    {
      parser: 'a parser that reads nothing',
      parse: (server) => server.addContentTypeParser('*', (_request, _payload, done) => done(null)),
    },
    {
      parser: 'a parser that leaves anything',
      parse: (server, left) => {
        server.removeAllContentTypeParsers()
        server.addContentTypeParser('*', { parseAs: 'string' }, (_request, _body, done) => done(null, left()))
      },
    },
  ])('behind $parser', async ({ parse, ofForm }) => {
    const listen: Listen = async (handle, left) => {
      const server = fastify()
      void parse(server, left)
      server.all('/locks', handle)
      await server.listen({ host: '127.0.0.1', port: 0 })
      afterTest(() => server.close())
      return (server.server.address() as AddressInfo).port
    }
    await expectEveryBodyAnswered(listen, BODIES, ofForm)
  })
})
