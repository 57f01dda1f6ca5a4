import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from './form'
import type { LockPage } from './lock-page'

/** A request of Node's `http`, or of a framework that has Node's own in `raw`, such as Fastify. */
export type NodeRequest = IncomingMessage | { readonly raw: IncomingMessage }
/** The response to it. */
export type NodeResponse =
  | ServerResponse
  | {
      readonly raw: ServerResponse
      /** Tells the framework that somebody else answers. */
      readonly hijack: () => unknown
    }

/** The app may have read the body already. */
interface Parsed {
  readonly raw: IncomingMessage
  readonly body: object
}

/**
 * Makes a handler of the page for Node's servers: for `(request, response)` of Express, Fastify, NestJS and `http.createServer`.
 * `authorize` gets the framework's request as its second argument.
 *
 * @returns a function that resolves when the answer has been sent, and never rejects
 */
export function nodeHandler<Request extends NodeRequest>(
  page: LockPage<Request>,
): (request: Request, response: NodeResponse) => Promise<void> {
  return async (request, response) => {
    const { raw: incoming = request as IncomingMessage, body: parsed = {} } = request as Partial<Parsed>
    const { raw: outgoing = response as ServerResponse } = response as { raw?: ServerResponse }
    if ('hijack' in response) response.hijack()
    const body = incoming.method === 'POST' ? await bodyOf(incoming, parsed) : undefined
    const answer = await page(standardRequest(incoming, body), request)
    outgoing.statusCode = answer.status
    answer.headers.forEach((value, name) => outgoing.setHeader(name, value))
    outgoing.end(await answer.text())
  }
}

function standardRequest(incoming: IncomingMessage, body: string | undefined): Request {
  const {
    method = '',
    headers,
    originalUrl,
    url = '',
  } = incoming as IncomingMessage & { originalUrl?: string }
  // HTTP/2 has it in a header that begins with a colon, which is none.
  const host = headers.host ?? String(headers[':authority'])
  const origin = `http://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`
  // The target may be a whole address, of another host.
  const target = (originalUrl ?? url).replace(/^[^/?][^?]*/, '/')
  return new Request(URL.canParse(origin) ? `${origin}${target}` : `http://localhost${target}`, {
    // Of those that the page refuses, Request refuses some as well.
    method: ['GET', 'HEAD', 'POST'].includes(method) ? method : 'OPTIONS',
    headers: Object.entries(headers)
      .filter(([name]) => !name.startsWith(':'))
      .map(([name, value]) => [name, String(value)]),
    ...(body !== undefined && { body }),
  })
}

/** As much of it as the page reads. */
async function bodyOf(incoming: IncomingMessage, parsed: object): Promise<string> {
  if (incoming.readableDidRead)
    return new URLSearchParams(
      Object.entries(parsed).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString()
  // Whoever sent it may have gone.
  const body = await readBody(incoming.iterator({ destroyOnReturn: false })).catch(() => '')
  // What is left of it must not keep the answer back.
  incoming.resume()
  return body.toString()
}
