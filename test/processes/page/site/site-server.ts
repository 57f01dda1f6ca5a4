import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { afterFile } from '../../../after-test'
import { listening } from '../../../listening'

export const SITE = join(__dirname, '../../../../site/dist')

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
}

/**
 * Serves the built site on loopback as GitHub's Pages does: an address without an ending is that of a page, and 404.html is shown for
 * others. @returns its address, for the tests of this file
 */
export async function serveSite(): Promise<string> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '', 'http://localhost').pathname)
    const file = [path, `${path}.html`, `${path}/index.html`]
      .map((each) => join(SITE, each))
      .find((each) => existsSync(each) && statSync(each).isFile())
    response.statusCode = file === undefined ? 404 : 200
    const shown = file ?? join(SITE, '404.html')
    response.setHeader('content-type', TYPES[extname(shown)] ?? 'text/plain')
    response.end(readFileSync(shown))
  })
  return `http://127.0.0.1:${await listening(server, afterFile)}`
}
