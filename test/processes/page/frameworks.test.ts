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

describe.each([
  // Its interface is that of Express 5 here, and it has no types of its own.
  { version: 4, app: createRequire(__filename)('express-4') as typeof express },
  { version: 5, app: express },
])('Express $version answers every body', ({ app }) => {
  const all = { type: () => true }
  const json = app.json({ strict: false })

  it.each<{ parser: string; parsers: RequestHandler[]; ofForm?: number }>([
    { parser: 'no parser', parsers: [] },
    { parser: 'json()', parsers: [json] },
    { parser: 'json() for every type', parsers: [app.json({ strict: false, ...all })], ofForm: 400 },
    { parser: 'urlencoded({ extended: true })', parsers: [app.urlencoded({ extended: true })] },
    { parser: 'urlencoded({ extended: false })', parsers: [app.urlencoded({ extended: false })] },
    { parser: 'json() and urlencoded()', parsers: [json, app.urlencoded({ extended: true })] },
    { parser: 'text()', parsers: [app.text(all)] },
    { parser: 'raw()', parsers: [app.raw(all)] },
    {
      parser: 'what leaves nothing',
      parsers: [(request, _, next) => void text(request).then(() => next(), next)],
      ofForm: 400,
    },
  ])('behind $parser', async ({ parsers, ofForm }) => {
    const listen: Listen = (handle) => {
      const server = app()
      // Its own error handler prints the errors of the parsers.
      server.set('env', 'test')
      server.use('/locks', ...parsers, handle)
      return listening(server)
    }
    await expectEveryBodyAnswered(listen, BODIES, ofForm)
  })

  it('behind a parser that leaves anything', async () => {
    await expectEveryBodyAnswered((handle, left) => {
      const server = app()
      server.use('/locks', (request, _, next) => {
        text(request).then(() => {
          request.body = left()
          next()
        }, next)
      })
      server.use('/locks', handle)
      return listening(server)
    }, BODIES)
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
      parser: 'a parser that leaves the text',
      parse: (server) => {
        server.removeAllContentTypeParsers()
        server.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, body))
      },
    },
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
    await expectEveryBodyAnswered(
      async (handle, left) => {
        const server = fastify()
        void parse(server, left)
        server.all('/locks', handle)
        await server.listen({ host: '127.0.0.1', port: 0 })
        afterTest(() => server.close())
        return (server.server.address() as AddressInfo).port
      },
      BODIES,
      ofForm,
    )
  })
})
