import { createHash } from 'node:crypto'
import { Markup, markup } from './markup'
import { SCRIPT } from './script'
import { STYLE } from './style'

// Responses are not cached, load nothing from elsewhere, and cannot be framed by other pages.

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    `default-src 'none'; style-src ${hashOf(STYLE)}; script-src ${hashOf(SCRIPT)}; connect-src 'self'; img-src data:; ` +
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // With `no-referrer`, browsers would not send the form's origin.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

export function answer(status: number, type: string, body: string, headers: object = {}): Response {
  const contentType = { 'content-type': `${type}; charset=utf-8` }
  return new Response(body, { status, headers: { ...HEADERS, ...contentType, ...headers } })
}

export function plainText(status: number, body: string, headers: object = {}): Response {
  return answer(status, 'text/plain', `${body}\n`, headers)
}

interface Page {
  readonly status: number
  /** Shown at the top, so that visitors do not mistake production for staging. */
  readonly title: string | undefined
  /** Descriptions of the lock tables. */
  readonly places: readonly string[]
  readonly heading: string
  readonly main: Markup
  /** How often the page shows what is new, in seconds. Default: never. */
  readonly refresh?: number | undefined
}

export function page({ status, title, places, heading, main, refresh }: Page): Response {
  const document = markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><title>${title && `${title}: `}${heading}</title><style>${new Markup(STYLE)}</style>
${refresh && markup`<script>${new Markup(SCRIPT)}</script><noscript><meta http-equiv="refresh" content="${refresh}"></noscript>`}</head>
<body${refresh && markup` data-refresh="${refresh}"`}>${title && markup`<header class="title${/\b(prod|production|live)\b/i.test(title) && ' live'}">${title}</header>`}<main>
<h1>${heading}</h1>
${places.map((place) => markup`<p class="place">${place}</p>`)}
${main}
</main></body></html>
`
  return answer(status, 'text/html', document.html)
}
