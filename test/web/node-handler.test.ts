import { once } from 'node:events'
import {
  createServer,
  request,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { connect, createServer as createHttp2Server, constants } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { parse } from 'node:querystring'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { describe, expect, it, jest, test } from '@jest/globals'
import { lockPage, nodeHandler, type LockPageOptions } from '../../src/web'
import type { NodeRequest } from '../../src/web/node-handler'
import { afterTest } from '../after-test'
import { eventually } from '../eventually'
import { listening } from '../listening'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { mutedWarnings, newProvider } from './open-page'

const PAUSE = '/locks?action=pause&name=job'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function mounted(
  mount = (handle: ReturnType<typeof nodeHandler<NodeRequest>>): RequestListener => handle,
  authorize: LockPageOptions<NodeRequest>['authorize'] = () => ({ user: 'ann' }),
) {
  const provider = await newProvider()
  const seen: string[] = []
  const page = lockPage<NodeRequest>(provider, {
    authorize: (asked, host) => {
      seen.push(`${asked.method} ${asked.url}`)
      return authorize(asked, host)
    },
    readOnly: false,
  })
  const server = createServer(mount(nodeHandler(page)))
  return { provider, seen, page, port: await listening(server) }
}

async function send(
  port: number,
  target: string,
  options: object = {},
  body = '',
): Promise<[IncomingMessage, string]> {
  const sending = request({ host: '127.0.0.1', port, path: target, agent: false, ...options })
  // What is sent after the answer is of no interest.
  sending.on('error', () => undefined).end(body)
  const [answer] = (await once(sending, 'response')) as [IncomingMessage]
  return [answer, await text(answer)]
}

const pause = (port: number, body = 'for=1h&reason=r') =>
  send(port, PAUSE, { method: 'POST', headers: { ...FORM, 'sec-fetch-site': 'same-origin' } }, body)

it('answers a server of Node', async () => {
  const { provider, seen, port } = await mounted()
  await provider.insert('job', { until: -1 })
  const [answer, html] = await send(port, '/locks?q=jo')
  expect([answer.statusCode, answer.headers['x-frame-options']]).toEqual([200, 'DENY'])
  expect(html).toContain('<div>job</div>')
  const [head, nothing] = await send(port, '/', { method: 'HEAD' })
  expect([head.statusCode, nothing]).toEqual([200, ''])
  const headers = { ...FORM, origin: `http://127.0.0.1:${port}` }
  const [done] = await send(port, PAUSE, { method: 'POST', headers }, 'for=1h&reason=r')
  expect([done.statusCode, done.headers.location]).toEqual([303, '?#%2Fjob'])
  expect((await provider.table.find('job'))?.paused).toBe(true)
  expect(seen[0]).toBe(`GET http://127.0.0.1:${port}/locks?q=jo`)
})

it('takes the address that the app has cut since', async () => {
  const { seen, port } = await mounted((handle) => (incoming, outgoing) => {
    void handle(Object.assign(incoming, { originalUrl: incoming.url, url: '/' }), outgoing)
  })
  await send(port, '/locks?q=jo')
  expect(seen[0]).toContain('/locks?q=jo')
})

it('answers a framework that has the request and the response of Node in raw', async () => {
  const hijack = jest.fn()
  const { port } = await mounted((handle) => (incoming, outgoing) => {
    void handle({ raw: incoming }, { raw: outgoing, hijack })
  })
  expect((await send(port, '/locks'))[0].statusCode).toBe(200)
  expect(hijack).toHaveBeenCalledTimes(1)
})

describe('the body that a parser left', () => {
  const leaving = (body: unknown) => (handle: ReturnType<typeof nodeHandler<NodeRequest>>) =>
    ((incoming, outgoing) => {
      void text(incoming).then(() => handle(Object.assign(incoming, { body }), outgoing))
    }) satisfies RequestListener
  const trap = (): never => {
    throw new Error('nobody may read this')
  }

  test.each<[string, unknown]>([
    ['a record', { for: '1h', reason: 'r' }],
    ['a record without a prototype, as querystring makes it', parse('for=1h&reason=r')],
    ['a field that is called toString', { for: '1h', reason: 'r', toString: 'x', ['__proto__']: 'y' }],
    ['URLSearchParams', new URLSearchParams('for=1h&reason=r')],
    ['the text of the form', 'for=1h&reason=r'],
    ['the bytes of the form', Buffer.from('for=1h&reason=r')],
  ])('is a form: %s', async (_, body) => {
    const { provider, port } = await mounted(leaving(body))
    const [done] = await pause(port, 'read before')
    expect([done.statusCode, (await provider.table.find('job'))?.paused]).toEqual([303, true])
  })

  it('is no form: says so', async () => {
    const { provider, port } = await mounted(leaving(new Proxy({}, { ownKeys: trap, get: trap })))
    const [answer, why] = await pause(port, 'read before')
    expect([answer.statusCode, why]).toEqual([400, expect.stringContaining('The body is not a form')])
    expect(await provider.table.list()).toEqual([])
  })

  it('is answered whatever it is, and the handler does not reject', async () => {
    let left: unknown
    const rejected: unknown[] = []
    const { port } = await mounted((handle) => (incoming, outgoing) => {
      const parsed = text(incoming).then(() => handle(Object.assign(incoming, { body: left }), outgoing))
      parsed.catch((error: unknown) => rejected.push(error))
    })
    const hostile = fc.constantFrom<unknown>(
      { toString: trap, valueOf: trap },
      Object.defineProperty({}, 'for', { enumerable: true, get: trap }),
      { then: (resolve: (value: unknown) => void) => resolve('for=1h') },
      trap,
      Symbol('body'),
    )
    const anything = fc.anything({
      withNullPrototype: true,
      withBigInt: true,
      withMap: true,
      withTypedArray: true,
    })
    await fc.assert(
      fc.asyncProperty(fc.oneof(anything, hostile), async (body) => {
        left = body
        const [answer] = await pause(port, 'read before')
        expect(rejected).toEqual([])
        expect([303, 400, 409]).toContain(answer.statusCode)
      }),
      { seed: 20_261_123, numRuns: 300 },
    )
  })

  it('is not there, though something has read it: says what to do', async () => {
    const { port } = await mounted(leaving(undefined))
    const [answer, why] = await pause(port)
    expect(answer.statusCode).toBe(400)
    expect(why).toContain('mount the page before')
  })

  it('is not read before authorize has answered', async () => {
    const read = jest.fn(trap)
    const { port } = await mounted(leaving(new Proxy({}, { ownKeys: read, get: read })), () => undefined)
    const [answer, why] = await pause(port, 'read before')
    expect([answer.statusCode, why]).toEqual([401, 'Unauthorized\n'])
    expect(read).not.toHaveBeenCalled()
  })
})

it('says so if authorize has read the body', async () => {
  const { port } = await mounted(undefined, async (asked) => (await asked.text()) !== '')
  const [answer, why] = await pause(port)
  expect([answer.statusCode, why]).toEqual([400, expect.stringContaining('clone()')])
})

it.each([undefined, false, true])(
  'leaves the answer alone that authorize has begun itself, although it returns %p',
  async (permission) => {
    const warnings = mutedWarnings()
    const { port } = await mounted(
      (handle) => (incoming, outgoing) => void handle(Object.assign(incoming, { outgoing }), outgoing),
      (_asked, host) => {
        const { outgoing } = host as unknown as { outgoing: ServerResponse }
        outgoing.writeHead(302, { location: '/login' }).write('to the login')
        setTimeout(() => outgoing.end(), 20)
        return permission
      },
    )
    const [answer, body] = await send(port, '/')
    expect([answer.statusCode, answer.headers.location, body]).toEqual([302, '/login', 'to the login'])
    expect(warnings).not.toHaveBeenCalled()
  },
)

it('answers even if the page does not', async () => {
  const warnings = mutedWarnings()
  const handle = nodeHandler(() => Promise.reject(new Error('no page')))
  const port = await listening(createServer((incoming, outgoing) => void handle(incoming, outgoing)))
  const [answer, why] = await send(port, '/')
  expect([answer.statusCode, why]).toEqual([500, "The page failed. The app's log has the error.\n"])
  expect(warnings).toHaveBeenCalledTimes(1)
  // A response that cannot be written does not end the process either.
  await handle({ headers: {} } as IncomingMessage, {} as ServerResponse)
  expect(warnings).toHaveBeenCalledTimes(3)
})

it.each([
  [
    'headers',
    [400, []],
    ({ headers }: IncomingMessage) => Object.assign(headers, { 'x y': '☃', 'x-other': '☃' }),
  ],
  [
    'method',
    [405, [expect.stringContaining('OPTIONS ')]],
    (incoming: IncomingMessage) => Object.assign(incoming, { method: 'TRACE' }),
  ],
])('answers a request whose %s no standard request can have', async (_, answered, change) => {
  const { port, seen } = await mounted((handle) => (incoming, outgoing) => {
    change(incoming)
    void handle(incoming, outgoing)
  })
  const [answer] = await send(port, '/')
  expect([answer.statusCode, seen]).toEqual(answered)
})

it('answers over HTTP/2', async () => {
  const { page } = await mounted()
  const server = createHttp2Server()
  // The types know HTTP/1 only.
  server.on('request', nodeHandler(page) as unknown as Parameters<typeof server.on>[1])
  const client = connect(`http://127.0.0.1:${await listening(server)}`)
  afterTest(() => client.close())
  const stream = client.request({ ':path': '/locks', ':method': 'GET' })
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
  expect(headers[constants.HTTP2_HEADER_STATUS]).toBe(200)
  expect(await text(stream)).toContain('There are no jobs yet')
})

it.each([
  ['//evil.example/locks', 'http://app.example//evil.example/locks'],
  ['http://evil.example/locks?q=1', 'http://app.example/?q=1'],
  ['/../../etc/passwd', 'http://app.example/etc/passwd'],
  ['/%2e%2e/%2e%2e/locks', 'http://app.example/locks'],
  ['/%00%ff%', 'http://app.example/%00%ff%'],
  ['*', 'http://app.example/'],
])('the target %s stays on this host', async (target, expected) => {
  const { seen, port } = await mounted()
  const [answer] = await send(port, target, { headers: { host: 'app.example' } })
  expect(answer.statusCode).toBe(200)
  expect(seen).toEqual([`GET ${expected}`])
})

it.each(['evil.example/a?b', 'a b', 'app.example:99999999', '::', '<script>'])(
  'the host %j is none',
  async (host) => {
    const { seen, port } = await mounted()
    const [answer] = await send(port, '/', { headers: { host } })
    expect([answer.statusCode, seen]).toEqual([200, ['GET http://localhost/']])
  },
)

it('answers a form of a megabyte, which it does not read, and the next request of the connection', async () => {
  const { provider, port } = await mounted()
  const socket = connectTcp(port, '127.0.0.1')
  afterTest(() => socket.destroy())
  let received = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
  const size = 1_048_576
  socket.write(
    `POST ${PAUSE} HTTP/1.1\r\nHost: app.example\r\nSec-Fetch-Site: same-origin\r\nContent-Length: ${size}\r\n\r\n${'a'.repeat(size)}`,
  )
  socket.write('GET /next HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n')
  await once(socket, 'close')
  expect(received.match(/^HTTP\/1.1 .*/gm)).toEqual(['HTTP/1.1 413 Payload Too Large', 'HTTP/1.1 200 OK'])
  expect(await provider.table.list()).toEqual([])
})

it('outlives a client that goes away in the middle of a form, and does nothing', async () => {
  const handled = promiseWithResolvers()
  const { provider, seen, port } = await mounted(
    (handle) => (incoming, outgoing) => void handle(incoming, outgoing).then(() => handled.resolve()),
  )
  await provider.insert('job')
  const { lockedBy = '', lockUntil } = (await provider.table.find('job')) ?? {}
  const asked = { action: 'release', name: 'job', owner: lockedBy, until: lockUntil?.toISOString() ?? '' }
  const socket = connectTcp(port, '127.0.0.1')
  socket.write(
    `POST /locks?${new URLSearchParams(asked).toString()} HTTP/1.1\r\nHost: app.example\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 100\r\n\r\nfor=`,
  )
  await eventually(() => expect(seen).toHaveLength(1))
  socket.resetAndDestroy()
  await handled.promise
  expect((await provider.table.find('job'))?.held).toBe(true)
  expect((await send(port, '/'))[0].statusCode).toBe(200)
})

it('outlives a client of HTTP/2 that goes away while authorize thinks', async () => {
  const gone = promiseWithResolvers()
  const { page } = await mounted(undefined, async () => {
    await gone.promise
    return true
  })
  const server = createHttp2Server()
  const handle = nodeHandler(page)
  const handled = new Promise((resolve, reject) => {
    server.on('request', (incoming, outgoing) => {
      incoming.on('close', () => gone.resolve())
      handle(incoming as unknown as NodeRequest, outgoing as unknown as ServerResponse).then(resolve, reject)
      client.destroy()
    })
  })
  const client = connect(`http://127.0.0.1:${await listening(server)}`)
  client.request({ ':path': '/locks', ':method': 'GET' }).on('error', () => undefined)
  await handled
})
