import { hostOf } from './authorization'

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
export async function readBody(body: AsyncIterable<Uint8Array> | Uint8Array[]): Promise<Buffer> {
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
  if (bodyUsed)
    throw new FormError(
      'Something has read the form before the page could – check whether authorize does, and read request.clone() there instead.',
    )
  const bytes = await readBody(body ?? []).catch((error: unknown) => {
    throw error instanceof FormError
      ? error
      : new FormError('The form did not arrive completely – send it again.')
  })
  if (bytes.length > LARGEST_FORM) throw new FormError('The form is too large – shorten the reason.', 413)
  return new URLSearchParams(bytes.toString())
}

/** Whether a page of this origin sent the form. Every browser reports that in a header which scripts cannot set. */
export function isFromHere(request: Request): boolean {
  const { headers } = request
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin') ?? ''
  return URL.canParse(origin) && new URL(origin).host === hostOf(request)
}
