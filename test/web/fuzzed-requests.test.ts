import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import fc from 'fast-check'
import { expect, it } from '@jest/globals'
import { lockPage, nodeHandler } from '../../src/web'
import type { NodeRequest } from '../../src/web/node-handler'
import { listening } from '../listening'
import { HOSTILE } from './hostile'
import { newProvider } from './open-page'

const WORDS = ['', 'job', 'java-host', 'pause', 'resume', 'release', 'off', '__proto__', 'null']
const VALUES = ['application/json', 'text/html', 'same-origin', 'https://app.example', 'null', 'http://[::1']
const text = fc.oneof(
  fc.constantFrom(...HOSTILE, ...WORDS),
  fc.constantFrom(...VALUES),
  fc.constantFrom('+275760-09-13T00:00:00.001Z', 'Infinity'),
  fc.string({ unit: 'binary', maxLength: 20 }),
)
const HEADERS = ['accept', 'cookie', 'origin', 'sec-fetch-site', 'content-type', 'x-forwarded-host']
const RUNS = { seed: 20_261_123, numRuns: 300 }

/** What `Headers` takes: bytes without those that end a line. */
const bytes = text.map((value) => value.replace(/[^\t -~\u0080-\u00ff]/g, '\u00ff'))
const query = fc
  .record(
    {
      action: fc.constantFrom('pause', 'resume', 'release', 'drop'),
      name: text,
      owner: text,
      until: text,
      provider: fc.constantFrom('', 'x', '__proto__'),
      refresh: text,
    },
    { requiredKeys: [] },
  )
  .map((parameters) => new URLSearchParams(parameters).toString())
const hosts = fc.constantFrom('a', 'a:b', 'a:99999', '[', '[::1]', '::', ':', '.', '..')
const headers = fc
  .tuple(fc.dictionary(fc.constantFrom(...HEADERS), bytes), fc.oneof(bytes, hosts))
  .map(([others, host]) => ({ ...others, host }))

it('every request that a server of Node accepts is answered', async () => {
  const provider = await newProvider()
  for (const [index, name] of HOSTILE.entries()) await provider.insert(name, { until: index % 2 ? 60 : -60 })
  const handle = nodeHandler(
    lockPage<NodeRequest>(provider, { authorize: () => ({ user: 'ann' }), readOnly: false }),
  )
  const rejected: unknown[] = []
  let accepted = 0
  const server = createServer((incoming, outgoing) => {
    accepted++
    handle(incoming, outgoing).catch((error: unknown) => rejected.push(error))
  })
  const port = await listening(server)

  const target = fc.oneof(
    query.map((asked) => `/locks?${asked}`),
    // Whatever stands in a line.
    text.map((value) => `/${value.replace(/[^!-~\u0080-\u00ff]/g, '%')}`),
    text.map((value) => value.replace(/[^!-~]/g, '/') || '*'),
    fc.constantFrom('*', '//', '///x', '/\\x', 'http://', 'http://a@b:c/', '?', '/?%', '/#x', 'x:y', '/%ff%'),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', 'HEAD', 'POST', 'OPTIONS', 'QUERY'),
      target,
      headers,
      async (method, asked, sent) => {
        const socket = connect(port, '127.0.0.1').setEncoding('latin1')
        const lines = Object.entries(sent)
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join('')
        let answer = ''
        socket.on('data', (chunk: string) => (answer += chunk))
        const before = accepted
        socket.end(`${method} ${asked} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`, 'latin1')
        await once(socket, 'close')
        expect(rejected).toEqual([])
        // What Node's parser refuses it answers itself.
        if (accepted > before) expect(answer).toMatch(/^HTTP\/1\.1 (200|303|400|403|404|405|409) /)
      },
    ),
    RUNS,
  )
  expect(accepted).toBeGreaterThan(RUNS.numRuns / 4)
})
