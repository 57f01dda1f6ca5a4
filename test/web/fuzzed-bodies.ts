import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { expect } from '@jest/globals'
import { lockPage, nodeHandler, type LockPageOptions } from '../../src/web'
import type { NodeRequest } from '../../src/web/node-handler'
import { afterTest } from '../after-test'
import { newProvider } from './open-page'

type AppRequest = NodeRequest & { readonly user?: string }

/** The page's handler, which counts its rejections. */
export type Handle = ReturnType<typeof nodeHandler<AppRequest>>

/** Stands for the sign-in of an app, which leaves the visitor in the framework's request. */
export function signIn(
  request: { readonly headers: IncomingHttpHeaders },
  _: unknown,
  next: () => void,
): void {
  Object.assign(request, { user: request.headers['x-user'] })
  next()
}

/**
 * Mounts the handler in a server, behind `signIn`.
 *
 * @param left what a parser may leave as the body of the next request
 * @returns the server's port
 */
export type Listen = (handle: Handle, left: () => unknown) => Promise<number>

/** Names and values that mean something to JavaScript, to a parser or to the page. */
const FIELDS = ['for', 'reason', 'toString', '__proto__', 'constructor', 'then', 'a[toString]', 'a[]', '']
const field = fc.constantFrom(...FIELDS)
const value = fc.oneof(
  fc.constantFrom('1h', 'migration', 'null', '\u0000', '%', '%ff%fe', '&=&'),
  fc.string({ unit: 'binary', maxLength: 10 }),
)
const pairs = fc.array(fc.tuple(field, value), { maxLength: 5 })
const sentBody = fc.record({
  type: fc.constantFrom(
    ...['application/x-www-form-urlencoded', 'application/json', 'text/plain'],
    ...['application/octet-stream', 'multipart/form-data; boundary=x'],
  ),
  body: fc.oneof(
    fc.json(),
    value,
    pairs.map((fields) => new URLSearchParams(fields).toString()),
    pairs.map((fields) => fields.map((pair) => pair.join('=')).join('&')),
    fc.constantFrom('{', '{"a":{"toString":1,"valueOf":1}}', '{"__proto__":null}'),
    fc.constantFrom('for=1h&reason=migration', `for=1h&reason=${'x'.repeat(9_000)}`),
  ),
})

const thrower = (): never => {
  throw new Error('a trap of the object')
}
/** What a body parser, good or bad, may leave in `body`. */
const parsedBody = fc.oneof(
  fc.anything({ withNullPrototype: true, withBigInt: true, withMap: true, withTypedArray: true }),
  fc.dictionary(field, value),
  fc.constantFrom<unknown>(
    { toString: thrower, valueOf: thrower },
    Object.defineProperty({}, 'for', { enumerable: true, get: thrower }),
    new Proxy({}, { ownKeys: thrower, get: thrower, getPrototypeOf: thrower }),
    { then: (resolve: (value: unknown) => void) => resolve('for=1h') },
    thrower,
    Symbol('body'),
  ),
)

/** The answers that a parser, or a framework, may give before the page is called. */
const OF_PARSERS = [400, 413, 415]
const ANN = { 'x-user': 'ann' }
const FORM = { type: 'application/x-www-form-urlencoded', body: 'for=1h&reason=migration' }

/**
 * Sends bodies to the page, both from a visitor who has signed in and may do everything, and from others. The page or a parser must
 * answer each request, and the handler must never reject.
 *
 * @param ofForm the status for a right form in the end
 */
export async function expectEveryBodyAnswered(listen: Listen, numRuns: number, ofForm = 303): Promise<void> {
  const provider = await newProvider()
  const rejected: unknown[] = []
  let left: unknown
  const authorize: LockPageOptions<AppRequest>['authorize'] = (_, { user }) => user !== undefined && { user }
  const handle = nodeHandler(lockPage(provider, { authorize, readOnly: false }))
  const port = await listen(
    (...parameters) => {
      const answered = handle(...parameters)
      answered.catch((error: unknown) => rejected.push(error))
      return answered
    },
    () => left,
  )
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  afterTest(() => agent.destroy())

  const send = async ({ type, body }: typeof FORM, user: object, action: string, name = 'job') => {
    const headers = { 'content-type': type, 'sec-fetch-site': 'same-origin', ...user }
    const path = `/locks?action=${action}&name=${name}`
    // A request without an answer would hang the test.
    const signal = AbortSignal.timeout(30_000)
    const sending = request({ host: '127.0.0.1', port, agent, path, method: 'POST', headers, signal }).end(
      body,
    )
    const [answer] = (await once(sending, 'response')) as [IncomingMessage]
    await text(answer)
    return answer.statusCode
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('pause', 'resume', 'release', 'drop'),
      fc.boolean(),
      sentBody,
      parsedBody,
      async (action, mayEnter, body, parsed) => {
        left = parsed
        const status = await send(body, mayEnter ? ANN : {}, action)
        expect(rejected).toEqual([])
        expect([...OF_PARSERS, ...(mayEnter ? [303, 404, 409] : [403])]).toContain(status)
      },
    ),
    { seed: 20_261_123, numRuns },
  )
  left = { for: '1h', reason: 'migration' }
  expect(await send(FORM, ANN, 'pause', 'other')).toBe(ofForm)
  const owner = (await provider.table.find('other'))?.lockedBy
  if (ofForm === 303) expect(owner).toMatch(/^paused by ann: migration/)
}
