import { describe, expect, it, jest, test } from '@jest/globals'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import type { Permission } from '../../src/web/authorization'
import type { LockPageOptions } from '../../src/web/lock-page'
import { SCRIPT } from '../../src/web/script'
import { HOSTILE } from './hostile'
import { ADDRESS, FROM_HERE, mutedWarnings, openPage, said } from './open-page'

const PAUSE = { action: 'pause', name: 'job' }
const FIELDS = { for: '1h', reason: 'r' }

describe('a visitor without permission', () => {
  test.each<[unknown, number]>([
    [undefined, 401],
    [null, 401],
    [false, 403],
    // Mistakes of an app: what is true for JavaScript is not a permission.
    ['yes', 403],
    [{}, 403],
    [{ user: '' }, 403],
    [{ user: { name: 'ann' } }, 403],
    [{ user: 'ann', isAdmin: false }, 403],
    [{ user: 'ann', readOnly: 'yes' }, 403],
    // As from a prototype that somebody polluted.
    [Object.create({ user: 'ann' }), 403],
    [new Error('no session store'), 403],
  ])('gets nothing but the status for the permission %p: %d', async (permission, status) => {
    const warnings = mutedWarnings()
    const isAnError = permission instanceof Error
    const authorize = () => (isAnError ? Promise.reject(permission) : (permission as Permission))
    const { provider, page, post } = await openPage({ authorize })
    await provider.insert('secret-name', { owner: 'secret-owner' })
    const answers = [
      ...['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'].map((method) => new Request(ADDRESS, { method })),
      new Request(`${ADDRESS}/..%2f?action=release&name=secret-name`),
      new Request(ADDRESS, { headers: { accept: 'application/json' } }),
    ].map((request) => page(request))
    const asked = { action: 'release', name: 'secret-name', owner: 'secret-owner' }
    for (const answer of [...(await Promise.all(answers)), await post(asked), await post(PAUSE, FIELDS)]) {
      expect(answer.status).toBe(status)
      expect(await answer.text()).toBe(status === 401 ? 'Unauthorized\n' : 'Forbidden\n')
      expect(answer.headers.get('set-cookie')).toBeNull()
    }
    expect(warnings.mock.calls.length > 0).toBe(isAnError)
    expect((await provider.table.list()).map(({ name, held }) => [name, held])).toEqual([
      ['secret-name', true],
    ])
  })
})

describe('a website whose name leads to the address of the page', () => {
  const FOREIGN = ['rebound.example', 'app.example.rebound.example', '127.0.0.1.rebound.example']
  const OWN = ['127.0.0.1:3000', '10.0.0.7', '[::1]:3000', 'localhost:3000', 'app.localhost', 'intranet']

  async function statuses(options: Partial<LockPageOptions>, hosts: readonly string[]): Promise<number[]> {
    const { page } = await openPage(options)
    const answers = hosts.map((host) => page(new Request(ADDRESS, { headers: { host } })))
    return (await Promise.all(answers)).map(({ status }) => status)
  }

  it('is refused if the page does not know its visitors', async () => {
    const anybody = { authorize: () => true }
    expect(new Set(await statuses(anybody, FOREIGN))).toEqual(new Set([403]))
    expect(new Set(await statuses(anybody, OWN))).toEqual(new Set([200]))
    const { page, get } = await openPage(anybody)
    // Without the header, the address counts.
    expect((await get()).status).toBe(403)
    expect((await page(new Request('http://127.0.0.1/locks'))).status).toBe(200)
    expect(await (await get()).text()).toContain("hosts: ['app.example']")
  })

  it('is refused if the page has a list of its hosts', async () => {
    const hosts = ['App.example', 'localhost']
    for (const authorize of [() => true, () => ({ user: 'ann' })]) {
      expect(await statuses({ authorize, hosts }, ['app.example:443', 'localhost:3000'])).toEqual([200, 200])
      expect(new Set(await statuses({ authorize, hosts }, [...FOREIGN, '127.0.0.1']))).toEqual(new Set([403]))
    }
  })
})

describe('a form', () => {
  test.each<[string, Record<string, string>, number]>([
    ['of this page', FROM_HERE, 303],
    [
      'below a proxy that changes the host',
      { 'sec-fetch-site': 'same-origin', origin: 'https://other' },
      303,
    ],
    [
      'of another site, which forges the origin',
      { 'sec-fetch-site': 'cross-site', origin: 'https://app.example' },
      403,
    ],
    ['of a neighbour', { 'sec-fetch-site': 'same-site' }, 403],
    ['of no page', { 'sec-fetch-site': 'none' }, 403],
    ['of an old browser', { origin: 'https://app.example' }, 303],
    ['of another port', { origin: 'https://app.example:8443' }, 403],
    ['of a site whose name begins alike', { origin: 'https://app.example.evil.example' }, 403],
    ['of a sandboxed frame', { origin: 'null' }, 403],
    ['of nobody', {}, 403],
  ])('%s', async (_, headers, status) => {
    const { provider, post } = await openPage()
    const answer = await post(PAUSE, FIELDS, headers)
    expect(answer.status).toBe(status)
    expect((await provider.table.find('job'))?.paused).toBe(status === 303 ? true : undefined)
  })

  it('of a megabyte is not read to its end', async () => {
    const { page } = await openPage()
    let sent = 0
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(Buffer.alloc(4_096, 'a'))
        if (++sent === 256) controller.close()
      },
    })
    const init = { method: 'POST', headers: FROM_HERE, body, duplex: 'half' as const }
    const answer = page(new Request(`${ADDRESS}?action=pause&name=job`, init))
    expect(await said(answer)).toEqual([413, 'The form is too large – shorten the reason.\n'])
    expect(sent).toBeLessThan(10)
  })

  it('that breaks off is an error of the request, and not of the database', async () => {
    const { page } = await openPage()
    const body = new ReadableStream({ pull: (stream) => stream.error(new Error('gone')) })
    const init = { method: 'POST', headers: FROM_HERE, body, duplex: 'half' as const }
    expect((await page(new Request(`${ADDRESS}?action=pause&name=job`, init))).status).toBe(400)
  })

  test.each([
    [{}, 404],
    [{ action: 'pause' }, 404],
    [{ action: 'drop', name: 'job' }, 404],
    [{ action: 'constructor', name: 'job' }, 404],
    [{ ...PAUSE, provider: '__proto__' }, 404],
    [{ action: 'release', name: 'job' }, 409],
    [{ action: 'resume', name: 'nobody', owner: 'x' }, 409],
  ])('for what is not there, %j, changes nothing', async (asked: Record<string, string>, status) => {
    const { provider, post } = await openPage()
    await provider.insert('job')
    expect((await post(asked, FIELDS)).status).toBe(status)
    expect(await provider.table.find('job')).toMatchObject({ held: true, lockedBy: 'host-2/7' })
  })
})

describe('an action is only for the lock that the visitor saw:', () => {
  /** The addresses of every action, with what the row has now. */
  const askFor = async (provider: SqlLockProvider, name = 'job') => {
    const lock = await provider.table.find(name)
    const seen = lock?.held ? { owner: lock.lockedBy, until: lock.lockUntil.toISOString() } : {}
    return (action: string, other: Record<string, string> = {}) => ({ action, name, ...seen, ...other })
  }
  const rowOf = async (provider: SqlLockProvider) => {
    const lock = await provider.table.find('job')
    return lock && { held: lock.held, lockedBy: lock.lockedBy, lockUntil: lock.lockUntil }
  }

  it.each([
    { owner: 'java-host', allowed: 'release', refused: 'resume' },
    { owner: '', allowed: 'release', refused: 'resume' },
    { owner: 'paused by ann: migration', allowed: 'resume', refused: 'release' },
    { owner: 'paused by ', allowed: 'resume', refused: 'release' },
  ])('with the owner $owner, it can $allowed, and neither $refused nor pause', async (each) => {
    const { provider, get, post } = await openPage()
    await provider.insert('job', { owner: each.owner })
    const before = await rowOf(provider)
    const ask = await askFor(provider)
    for (const action of [each.refused, 'pause']) {
      const asks = await get(`?${new URLSearchParams(ask(action)).toString()}`)
      expect([asks.status, (await asks.text()).includes('<form')]).toEqual([409, false])
      expect((await post(ask(action), FIELDS)).status).toBe(409)
      expect((await post({ action, name: 'job' }, FIELDS)).status).toBe(409)
    }
    expect(await rowOf(provider)).toEqual(before)
    expect((await post(ask(each.allowed))).status).toBe(303)
    expect((await provider.table.find('job'))?.held).toBe(false)
  })

  it.each([
    ['java-host', 'release'],
    ['paused by ann: r', 'resume'],
  ])('a lock that changes between the query and the write stays: %s', async (owner, action) => {
    const { provider, post } = await openPage()
    await provider.insert('job', { owner, until: 60 })
    const seen = await provider.table.find('job')
    const ask = await askFor(provider)
    await provider.remove('job')
    await provider.insert('job', { owner, until: 90 })
    jest.spyOn(provider.table, 'list').mockResolvedValueOnce(seen ? [seen] : [])
    expect((await post(ask(action))).status).toBe(409)
    expect((await provider.table.find('job'))?.held).toBe(true)
  })
})

describe('hostile texts', () => {
  it.each(HOSTILE)('as name, owner, filter, reason and user come out as text: %j', async (text) => {
    const { provider, html, post } = await openPage({ authorize: () => ({ user: text }), overdueAfter: {} })
    await provider.insert(text, { owner: `${text}/${text}` })
    const [until = ''] = (await provider.table.list()).map(({ lockUntil }) => lockUntil.toISOString())
    await provider.insert('job', { until: -1 })
    const asked = { name: text, owner: `${text}/${text}`, until, provider: '' }
    const query = (parameters: object): string => `?${new URLSearchParams({ ...parameters }).toString()}`
    await post(PAUSE, { for: text, reason: text })
    await post(PAUSE, { for: '1h', reason: text })
    const pages = [
      await html(),
      await html(query({ refresh: text })),
      await html(query({ ...asked, action: 'release' })),
      await html(query({ ...asked, action: 'pause' })),
      await (await post({ ...asked, action: 'pause' }, { for: text, reason: text })).text(),
      await (await post({ ...asked, action: text }, {})).text(),
    ]
    for (const page of pages) {
      // Whatever is a tag is one of ours, and has quotes around its values.
      const tags = [
        ...page
          .replace(/<style>.*?<\/style>/s, '')
          .replace(`<script>${SCRIPT}</script>`, '')
          .matchAll(/<([^>]*)>/g),
      ].map(([, tag = '']) => tag)
      expect(
        tags.filter((tag) => !/^(\/?[a-z][a-z0-9]*|!doctype html)( [a-z-]+(="[^"<>]*")?)*$/.test(tag)),
      ).toEqual([])
      expect(tags.filter((tag) => /^(script|img|svg)/.test(tag))).toEqual([])
      expect(page).not.toMatch(/[\u202E\u001B\u0000\r]/)
      for (const [, href = ''] of page.matchAll(/href="([^"]*)"/g))
        expect(href).toMatch(/^(\?[^<>"']*|data:,)$/)
    }
    expect(pages[0]?.match(/<tr /g)).toHaveLength(3)
    // It is the row that was meant, whatever its name.
    expect((await post({ ...asked, action: 'release' })).status).toBe(303)
    expect((await provider.table.find(text))?.held).toBe(false)
  })

  it('lead nowhere but to this page', async () => {
    const { post } = await openPage()
    for (const name of ['//evil.example', 'https://evil.example', 'a b\u00e4&c=d#e']) {
      const answer = await post({ action: 'pause', name }, FIELDS)
      const location = answer.headers.get('location') ?? ''
      expect(new URL(location, ADDRESS).href).toMatch(/^https:\/\/app\.example\/locks\?#/)
    }
  })
})

it('every answer may not be kept, framed, guessed at or given scripts but its own', async () => {
  const { get, post, page } = await openPage()
  const answers = [
    ...[await get(), await get('', { accept: 'application/json' }), await get('?action=pause&name=job')],
    ...[await post(PAUSE, FIELDS), await post({}), await page(new Request(ADDRESS, { method: 'PUT' }))],
  ]
  for (const { headers } of answers) {
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; script-src 'sha256-[\w+/=]{44}'; connect-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
    )
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    for (const name of ['referrer-policy', 'cross-origin-opener-policy', 'cross-origin-resource-policy'])
      expect([name, headers.get(name)]).toEqual([name, 'same-origin'])
  }
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 303, 404, 405])
  expect(answers.at(-1)?.headers.get('allow')).toBe('GET, HEAD, POST')
})
