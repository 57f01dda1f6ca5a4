import { randomBytes } from 'node:crypto'

/** In bytes. */
const LARGEST_FORM = 8_192

/** A body that cannot be used as a form. The message is shown to the visitor. */
export class FormError extends Error {
  constructor(
    message: string,
    readonly status: 400 | 413 = 400,
  ) {
    super(message)
  }
}

/** Reads a body to its end, or until it is larger than any form. */
export async function readBody(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size > LARGEST_FORM) break
  }
  return Buffer.concat(chunks)
}

/**
 * Returns the fields of the form in the request's body.
 *
 * @throws FormError
 */
export async function readForm({ body, bodyUsed }: Request): Promise<URLSearchParams> {
  if (bodyUsed || body?.locked)
    throw new FormError(
      'Something has read the form before the page could, such as authorize – read request.clone() there instead.',
    )
  let bytes: Buffer
  try {
    bytes = body ? await readBody(body) : Buffer.alloc(0)
  } catch (error) {
    if (error instanceof FormError) throw error
    throw new FormError('The form did not arrive completely – send it again.')
  }
  if (bytes.length > LARGEST_FORM) throw new FormError('The form is too large.', 413)
  return new URLSearchParams(bytes.toString())
}

const COOKIE = 'shedlock-page'

/**
 * A token that other sites cannot know, for browsers that do not report where a form comes from. It is both in a cookie and in the form,
 * so no instance needs to store it.
 */
export function tokenOf(request: Request): string {
  return tokenIn(request) ?? randomBytes(24).toString('base64url')
}

export function tokenCookie(token: string): { 'set-cookie': string } {
  return { 'set-cookie': `${COOKIE}=${token}; HttpOnly; SameSite=Strict` }
}

/** Whether a page of this origin sent the form. Scripts cannot set the headers that are checked. */
export function isFromHere(request: Request, form: URLSearchParams): boolean {
  const { headers } = request
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  const host = headers.get('host') ?? new URL(request.url).host
  if (origin !== null) return URL.canParse(origin) && new URL(origin).host === host
  const token = tokenIn(request)
  return token !== undefined && form.get('token') === token
}

function tokenIn(request: Request): string | undefined {
  return cookieOf(request, COOKIE, '[\\w-]{32}')
}

/** @param value the pattern of valid values; a cookie with any other value is ignored */
export function cookieOf({ headers }: Request, name: string, value: string): string | undefined {
  return new RegExp(`(?:^|;\\s*)${name}=(${value})(?:;|$)`).exec(headers.get('cookie') ?? '')?.[1]
}
