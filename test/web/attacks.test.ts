import { describe, expect, it, jest, test } from '@jest/globals'
import { lockPage, type Permission } from '../../src/web'
import { afterTest } from '../after-test'
import { HOSTILE } from './hostile'
import { ADDRESS, FROM_HERE, newProvider, openPage } from './open-page'

const PAUSE = { action: 'pause', name: 'job' }
const FIELDS = { for: '1h', reason: 'r' }

describe('whoever may not see it', () => {
  const mute = (): void => {
    const warnings = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    afterTest(() => warnings.mockRestore())
  }

  test.each<[unknown, number]>([
    [undefined, 401],
    [null, 401],
    [false, 403],
    // Mistakes of an app: what is true for JavaScript is not a permission.
    ['yes', 403],
    [1, 403],
    ['', 403],
    [{}, 403],
    [{ user: '' }, 403],
    [{ user: { name: 'ann' } }, 403],
    [{ user: 'ann', isAdmin: false }, 403],
    [{ user: 'ann', readOnly: 'yes' }, 403],
    [[], 403],
    [Promise.reject(new Error('no session store')), 403],
  ])('is answered %p with %d, and nothing else', async (permission, status) => {
    mute()
    if (permission instanceof Promise) permission.catch(() => undefined)
    const { provider, page, post } = await openPage({ authorize: () => permission as Permission })
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
    expect((await provider.listLocks()).map(({ name, held }) => [name, held])).toEqual([
      ['secret-name', true],
    ])
  })

  it('is told by what the host has beside the request', async () => {
    const page = lockPage<{ user?: { isAdmin: boolean } }>(await newProvider(), {
      authorize: (_request, { user }) => user?.isAdmin,
    })
    mute()
    const statuses = [{ user: { isAdmin: true } }, { user: { isAdmin: false } }, {}, undefined].map(
      async (host) => (await page(new Request(ADDRESS), host)).status,
    )
    expect(await Promise.all(statuses)).toEqual([200, 403, 401, 403])
  })
})

describe('a form', () => {
  const cookie = 'shedlock-page=abcdefghijklmnopqrstuvwxyz_-0123'
  const token = cookie.slice('shedlock-page='.length)

  test.each<[string, Record<string, string>, Record<string, string>, number]>([
    ['of this page', FROM_HERE, {}, 303],
    [
      'below a proxy that changes the host',
      { 'sec-fetch-site': 'same-origin', origin: 'https://other' },
      {},
      303,
    ],
    ['of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, {}, 403],
    [
      'of another site, which forges the origin',
      { 'sec-fetch-site': 'cross-site', origin: 'https://app.example' },
      {},
      403,
    ],
    ['of a neighbour', { 'sec-fetch-site': 'same-site' }, {}, 403],
    ['of no page', { 'sec-fetch-site': 'none' }, {}, 403],
    ['of an old browser', { origin: 'https://app.example' }, {}, 303],
    ['of another site in an old browser', { origin: 'https://evil.example' }, {}, 403],
    ['of another port', { origin: 'https://app.example:8443' }, {}, 403],
    ['of a site whose name begins alike', { origin: 'https://app.example.evil.example' }, {}, 403],
    ['of a sandboxed frame', { origin: 'null' }, {}, 403],
    ['of nobody', {}, {}, 403],
    ['with a token and its cookie', { cookie: `other=1; ${cookie}` }, { token }, 303],
    ['with a token and no cookie', {}, { token }, 403],
    ['with a cookie and no token', { cookie }, {}, 403],
    ['with a forged token', { cookie }, { token: token.replace('a', 'b') }, 403],
    ['with an empty token', { cookie: 'shedlock-page=' }, { token: '' }, 403],
    ['of another site with a token', { cookie, origin: 'https://evil.example' }, { token }, 403],
  ])('%s', async (_, headers, fields, status) => {
    const { provider, post } = await openPage()
    const answer = await post(PAUSE, { ...FIELDS, ...fields }, headers)
    expect(answer.status).toBe(status)
    expect((await provider.findLock('job'))?.paused).toBe(status === 303 ? true : undefined)
  })

  it('has the token of its cookie, which stays the same', async () => {
    const { get } = await openPage()
    const first = await get('?action=pause&name=job')
    const [, made = ''] =
      /^shedlock-page=([\w-]{32}); HttpOnly; SameSite=Strict$/.exec(first.headers.get('set-cookie') ?? '') ??
      []
    expect(await first.text()).toContain(`name="token" value="${made}"`)
    const second = await get('?action=pause&name=job', { cookie: `shedlock-page=${made}` })
    expect(await second.text()).toContain(`name="token" value="${made}"`)
    const forged = await get('?action=pause&name=job', { cookie: 'shedlock-page="><script>' })
    expect(await forged.text()).not.toContain('<script>')
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
    const answer = await page(new Request(`${ADDRESS}?action=pause&name=job`, init))
    expect([answer.status, await answer.text()]).toEqual([413, 'The form is too large.\n'])
    expect(sent).toBeLessThan(10)
  })

  test.each([
    [{}, 404],
    [{ action: 'pause' }, 404],
    [{ action: 'drop', name: 'job' }, 404],
    [{ action: 'constructor', name: 'job' }, 404],
    [{ action: '__proto__', name: 'job' }, 404],
    [{ ...PAUSE, provider: 'other' }, 404],
    [{ ...PAUSE, provider: '__proto__' }, 404],
    [{ action: 'release', name: 'job' }, 409],
    [{ action: 'resume', name: 'nobody', owner: 'x' }, 409],
  ])('for what is not there, %j, changes nothing', async (asked: Record<string, string>, status) => {
    const { provider, post } = await openPage()
    await provider.insert('job')
    expect((await post(asked, FIELDS)).status).toBe(status)
    expect(await provider.findLock('job')).toMatchObject({ held: true, lockedBy: 'host-2/7' })
  })

  it('for a lock that somebody else holds by now does not release it', async () => {
    const { provider, post } = await openPage()
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    const owner = (await provider.findLock('job'))?.lockedBy ?? ''
    await lock?.unlock()
    await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    expect((await post({ action: 'release', name: 'job', owner })).status).toBe(409)
    expect((await provider.findLock('job'))?.held).toBe(true)
  })
})

describe('hostile texts', () => {
  it.each(HOSTILE)('as name, owner, filter, reason and user come out as text: %j', async (text) => {
    const { provider, html, post } = await openPage({ authorize: () => ({ user: text }), limits: {} })
    await provider.insert(text, { owner: `${text}/${text}` })
    await provider.insert('job', { until: -1 })
    const asked = { name: text, owner: `${text}/${text}`, provider: '' }
    const query = (parameters: object): string => `?${new URLSearchParams({ ...parameters }).toString()}`
    await post(PAUSE, { for: text, reason: text })
    await post(PAUSE, { for: '1h', reason: text })
    const pages = [
      await html(),
      await html(query({ q: text, refresh: text })),
      await html(query({ ...asked, action: 'release' })),
      await html(query({ ...asked, action: 'pause' })),
      await (await post({ ...asked, action: 'pause' }, { for: text, reason: text })).text(),
      await (await post({ ...asked, action: text }, {})).text(),
    ]
    for (const page of pages) {
      // Whatever is a tag is one of ours, and has quotes around its values.
      const tags = [...page.replace(/<style>.*?<\/style>/s, '').matchAll(/<([^>]*)>/g)].map(
        ([, tag = '']) => tag,
      )
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
    expect((await provider.findLock(text))?.held).toBe(false)
  })

  it('lead nowhere but to this page', async () => {
    const { post } = await openPage()
    for (const name of ['//evil.example', 'https://evil.example', 'a b\u00e4&c=d#e']) {
      const answer = await post({ action: 'pause', name }, FIELDS)
      const location = answer.headers.get('location') ?? ''
      expect(new URL(location, ADDRESS).href).toMatch(/^https:\/\/app\.example\/locks\?q=/)
    }
  })
})

describe('every answer', () => {
  it('may not be kept, framed, guessed at or given scripts', async () => {
    const { get, post, page } = await openPage()
    const answers = [
      ...[await get(), await get('', { accept: 'application/json' }), await get('?action=pause&name=job')],
      ...[await post(PAUSE, FIELDS), await post({}), await page(new Request(ADDRESS, { method: 'PUT' }))],
    ]
    for (const { headers } of answers) {
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
      )
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('referrer-policy')).toBe('same-origin')
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 303, 404, 405])
  })

  it('to a thousand at once comes from one look at the table', async () => {
    const { provider, get } = await openPage()
    for (let index = 0; index < 12; index++) await provider.insert(`job ${index}`)
    const look = jest.spyOn(provider, 'listLocks')
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => get()))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1_000)
    expect(look).toHaveBeenCalledTimes(1)
    await get()
    expect(look).toHaveBeenCalledTimes(2)
  })

  it('after a change shows it, though a look from before is under way', async () => {
    const { provider, get, html, post } = await openPage()
    await provider.insert('job', { until: -1 })
    const before = await provider.listLocks()
    let answer: (locks: typeof before) => void = () => undefined
    jest
      .spyOn(provider, 'listLocks')
      .mockImplementationOnce(() => new Promise((resolve) => (answer = resolve)))
    const looking = get()
    await post(PAUSE, FIELDS)
    expect(await html()).toContain('<span class="state paused">')
    answer(before)
    expect(await (await looking).text()).toContain('<span class="state free">')
  })
})
