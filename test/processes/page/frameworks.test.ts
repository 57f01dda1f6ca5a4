import { createRequire } from 'node:module'
import { createServer, type RequestListener } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import formbody from '@fastify/formbody'
import express from 'express'
import type { RequestHandler } from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { it } from '@jest/globals'
import { afterTest } from '../../after-test'
import { listening } from '../../listening'
import { expectEveryBodyAnswered, signIn, type Listen } from '../../web/fuzzed-bodies'

/** Fewer where the time counts. */
const BODIES = Number(process.env['BODIES'] ?? 1_000)

interface Row {
  behind: string
  listen: Listen
  /** What a form gets, if not the page. */ ofForm?: number
}

/** Its interface is that of Express 5 here, and version 4 has no types of its own. */
const VERSIONS = { 4: createRequire(__filename)('express-4') as typeof express, 5: express }

function inExpress(version: keyof typeof VERSIONS, ...parsers: RequestHandler[]): Listen {
  return async (handle) => {
    const app = VERSIONS[version]()
    // Its own error handler prints the errors of the parsers.
    app.set('env', 'test')
    app.use(signIn)
    app.use('/locks', ...parsers, handle)
    return listening(createServer(app as RequestListener))
  }
}

const expressRows = ([4, 5] as const).flatMap((version): Row[] => {
  const { json, urlencoded, text, raw } = VERSIONS[version]
  const row = (behind: string, ...parsers: RequestHandler[]): Row => ({
    behind: `${behind} of Express ${version}`,
    listen: inExpress(version, ...parsers),
  })
  const every = { type: () => true }
  return [
    row('no parser'),
    row('json() and urlencoded()', json(), urlencoded({ extended: true })),
    { ...row('json() for every type', json({ ...every, strict: false })), ofForm: 400 },
    row('text()', text(every)),
    row('raw()', raw(every)),
    {
      ...row('what leaves nothing', (request, _, next) => void textOf(request).then(() => next(), next)),
      ofForm: 400,
    },
  ]
})

const inFastify =
  (parse: (server: FastifyInstance, left: () => unknown) => unknown): Listen =>
  async (handle, left) => {
    const server = fastify()
    server.addHook('onRequest', signIn)
    void parse(server, left)
    server.all('/locks', handle)
    afterTest(() => server.close())
    return Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port)
  }

const fastifyRows: Row[] = [
  // Fastify itself parses no forms.
  { behind: 'the parsers of Fastify', listen: inFastify(() => undefined), ofForm: 415 },
  { behind: '@fastify/formbody', listen: inFastify((server) => server.register(formbody)) },
  {
    behind: 'a parser of Fastify that reads nothing',
    listen: inFastify((server) => server.addContentTypeParser('*', (_request, _payload, done) => done(null))),
  },
  {
    behind: 'a parser of Fastify that leaves anything',
    listen: inFastify((server, left) => {
      server.removeAllContentTypeParsers()
      server.addContentTypeParser('*', { parseAs: 'string' }, (_request, _body, done) => done(null, left()))
    }),
  },
]

it.each([...expressRows, ...fastifyRows])('every body is answered behind $behind', ({ listen, ofForm }) =>
  expectEveryBodyAnswered(listen, BODIES, ofForm),
)
