import type { IncomingMessage, ServerResponse } from 'node:http'
import { warn } from '../core/internal'
import { plainText } from './answer'
import { FormError, readBody } from './form'
import type { LockPage } from './lock-page'

/** A request of Node's `http`, or of a framework that has Node's own in `raw`, such as Fastify. */
export type NodeRequest = IncomingMessage | { readonly raw: IncomingMessage }
/**
 * Creates a handler that serves the page on Node's servers: for `(request, response)` of Express, Fastify, NestJS and `http.createServer`.
 * `authorize` gets the framework's request as its second argument. If `authorize` has sent a response itself, such as a redirect, the
 * page sends nothing.
 *
 * @returns a function that resolves when the response has been sent, and never rejects
 */
export function nodeHandler<Request extends IncomingMessage | { readonly raw: IncomingMessage }>(
  page: LockPage<Request>,
): (
  request: Request,
  response: ServerResponse | { readonly raw: ServerResponse; readonly hijack: () => unknown },
) => Promise<void> {
  return async (request, response) => {
    const { raw: outgoing = response as ServerResponse } = response as { raw?: ServerResponse }
    try {
      if ('hijack' in response) response.hijack()
      const standard = standardRequest(request)
      await send(
        standard ? await page(standard, request) : plainText(400, 'The request is malformed.'),
        outgoing,
      )
    } catch (error) {
      warn(error)
      await send(plainText(500, "The page failed. The app's log has the error."), outgoing).catch(warn)
    }
  }
}

/** Does nothing if a response was already sent. */
async function send(answer: Response, outgoing: ServerResponse): Promise<void> {
  const body = await answer.text()
  if (outgoing.headersSent) return
  outgoing.statusCode = answer.status
  answer.headers.forEach((value, name) => outgoing.setHeader(name, value))
  outgoing.end(body)
}

/** @returns `undefined` if a standard request cannot represent it */
function standardRequest(request: NodeRequest): Request | undefined {
  const { raw: incoming = request as IncomingMessage } = request as { raw?: IncomingMessage }
  const { method = '', headers, url = '' } = incoming
  // Express keeps it here, and cuts the path of a router from the other.
  const { originalUrl = url } = incoming as { originalUrl?: string }
  // HTTP/2 sends it as the pseudo-header `:authority`, which `Headers` rejects.
  const host = headers.host ?? String(headers[':authority'])
  const origin = `http://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`
  // The target may be an absolute URL with a different host.
  const target = originalUrl.replace(/^[^/?][^?]*/, '/')
  try {
    return new Request(URL.canParse(origin) ? `${origin}${target}` : `http://localhost${target}`, {
      // The page refuses all other methods, but Request would throw for some of them.
      method: ['GET', 'HEAD', 'POST'].includes(method) ? method : 'OPTIONS',
      headers: Object.entries(headers)
        .filter(([name]) => !name.startsWith(':'))
        .map(([name, value]) => [name, String(value)]),
      ...(method === 'POST' && { body: bodyOf(request, incoming), duplex: 'half' }),
    })
  } catch {
    return undefined
  }
}

/** Reads nothing until the page does, which is after `authorize` has permitted the request. */
function bodyOf(request: NodeRequest, incoming: IncomingMessage): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        controller.enqueue(incoming.readableDidRead ? parsedBody(request) : await unreadBody(incoming))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

async function unreadBody(incoming: IncomingMessage): Promise<Buffer> {
  const body = await readBody(incoming.iterator({ destroyOnReturn: false }))
  // Discard the rest of the body, so that it does not delay the response.
  incoming.resume()
  return body
}

/**
 * Returns the form that a body parser of the app has left in `body`. What is no form has none of the fields that an action needs.
 *
 * @throws FormError
 */
function parsedBody(request: NodeRequest): Uint8Array {
  const { body } = request as { body?: string | URLSearchParams | Record<string, string> | Uint8Array }
  if (body === undefined)
    throw new FormError(
      'The app has read the form and left nothing of it in request.body – mount the page before anything that reads bodies, or parse forms with a body parser.',
    )
  if (body instanceof Uint8Array) return body
  try {
    return Buffer.from(new URLSearchParams(body).toString())
  } catch {
    // A symbol, for example, or a proxy that throws.
    throw new FormError('The body is not a form – send one as application/x-www-form-urlencoded.')
  }
}
