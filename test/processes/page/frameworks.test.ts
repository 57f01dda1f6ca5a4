import { createRequire } from 'node:module'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import formbody from '@fastify/formbody'
import express from 'express'
import type { RequestHandler } from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { expect, it } from '@jest/globals'
import { lockPage, nodeHandler } from '../../../src/web'
import type { NodeRequest } from '../../../src/web/node-handler'
import { afterTest } from '../../after-test'
import { listening } from '../../listening'
import { newProvider } from '../../web/open-page'

type AppRequest = NodeRequest & { readonly user?: string }
/** Mounts the page in a server, behind a sign-in. @returns the server's port */
type Listen = (handle: ReturnType<typeof nodeHandler<AppRequest>>) => Promise<number>

interface Row {
  readonly behind: string
  readonly listen: Listen
  /** What a form gets, if not the page. */
  readonly ofForm?: number
}

/** Stands for the sign-in of an app, which leaves the visitor in the framework's request. */
function signIn(request: Pick<IncomingMessage, 'headers'>, _: unknown, next: () => void): void {
  Object.assign(request, { user: request.headers['x-user'] })
  next()
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
  ]
})

const inFastify =
  (parse: (server: FastifyInstance) => unknown): Listen =>
  async (handle) => {
    const server = fastify()
    server.addHook('onRequest', signIn)
    void parse(server)
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
]

// What else a parser may leave, and what else may be sent, is in test/web.
it.each([...expressRows, ...fastifyRows])(
  'a form is answered behind $behind',
  async ({ listen, ofForm = 303 }) => {
    const provider = await newProvider()
    const page = lockPage<AppRequest>(provider, {
      authorize: (_, { user }) => user !== undefined && { user },
      readOnly: false,
    })
    const port = await listen(nodeHandler(page))
    const pause = async (headers: Record<string, string>) => {
      const body = new URLSearchParams({ for: '1h', reason: 'migration' })
      const sent = {
        method: 'POST',
        redirect: 'manual',
        body,
        headers: { 'sec-fetch-site': 'same-origin', ...headers },
      }
      return (await fetch(`http://127.0.0.1:${port}/locks?action=pause&name=job`, sent as RequestInit)).status
    }
    // A parser may answer before the page is asked.
    expect(ofForm === 303 ? [403] : [403, ofForm]).toContain(await pause({}))
    expect(await pause({ 'x-user': 'ann' })).toBe(ofForm)
    const owner = (await provider.table.find('job'))?.lockedBy
    if (ofForm === 303) expect(owner).toMatch(/^paused by ann: migration/)
  },
)
