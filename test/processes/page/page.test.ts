import { createServer } from 'node:http'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, it } from '@jest/globals'
import { afterTest } from '../../after-test'
import { listening } from '../../listening'
import { HOSTILE } from '../../web/hostile'
import { servePage, type PageServer } from './page-server'
import { insertTwelve, knownJobs, OVERDUE_AFTER } from './rows'
import { excessOf, newPage, SCREENS, tooWideAt, violations } from './visitor'

async function serve(
  insert: (server: PageServer) => Promise<unknown> = () => Promise.resolve(),
  options: Parameters<typeof servePage>[0] = {},
): Promise<PageServer> {
  const server = await servePage(options)
  afterTest(() => server.close())
  await insert(server)
  return server
}

/** A page of a visitor whose browser runs no scripts, and all that it complained of. */
async function visit(
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const page = await newPage({ javaScriptEnabled: false, ...options })
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('dialog', (dialog) => complaints.push(dialog.message()))
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith('data:'))
      complaints.push(request.url())
  })
  await page.goto(url)
  return { page, complaints }
}

const text = (page: Page, job: string, label: string): Promise<string> =>
  page.locator(`[id="/${job}"] td[data-label="${label}"]`).innerText()

/** Locks that were acquired a minute ago. */
const insertHeld =
  (...names: string[]) =>
  async ({ insert }: PageServer): Promise<void> => {
    for (const name of names) await insert(name, { owner: 'host/1', at: -60, until: 600 })
  }

async function insertMany({ insert }: PageServer): Promise<void> {
  for (let index = 0; index < 500; index++) {
    const owner = `worker-${index % 7}/1`
    await insert(`tenant-${index}:report`, { owner, at: -index, until: index % 50 ? -1 : 60 })
  }
}

async function insertHostile({ insert }: PageServer): Promise<void> {
  for (const text of [...HOSTILE, 'x'.repeat(64)])
    await insert(text, { owner: text.padEnd(200, text), at: -60, until: 600 })
}

async function insertWidest(server: PageServer): Promise<void> {
  await insertTwelve(server)
  await server.insert('locked in the future', { owner: 'api-7f9c4d/1', at: 3_600 * 24 * 99, until: -1 })
}

it.each([
  ['no', 160, () => Promise.resolve()],
  ['the widest', 20, insertWidest],
  ['five hundred', 160, insertMany],
  ['hostile', 160, insertHostile],
] as const)(
  '%s locks fit into windows from 320 pixels on, and load and say nothing else',
  async (_, step, insert) => {
    const { url } = await serve(insert, { overdueAfter: OVERDUE_AFTER, jobs: knownJobs() })
    // With scripts, so that those of a name would run.
    const { page, complaints } = await visit(url, { javaScriptEnabled: true })
    expect(await tooWideAt(page, step)).toEqual([])
    expect(complaints).toEqual([])
  },
)

it('the head of the table stays in sight', async () => {
  const { page } = await visit((await serve(insertMany)).url)
  await page.getByRole('row').last().scrollIntoViewIfNeeded()
  expect((await page.getByRole('columnheader', { name: 'Locked at' }).boundingBox())?.y).toBe(0)
})

describe.each(SCREENS)('at $viewport.width pixels, $colorScheme', (screen) => {
  it('axe-core finds nothing wrong', async () => {
    const found: string[] = []
    const check = async (page: Page, where: string): Promise<void> => {
      for (const wrong of await violations(page)) found.push(`${where}: ${wrong}`)
    }
    const visitTitled = async (title: string) => {
      const { url } = await serve(insertTwelve, { overdueAfter: OVERDUE_AFTER, title })
      return visit(url, { ...screen, bypassCSP: true, javaScriptEnabled: true })
    }
    // The two differ in the colour of their titles.
    await check((await visitTitled('Shop, staging')).page, 'staging')
    const { page, complaints } = await visitTitled('Shop, production')
    const url = page.url()
    for (const query of ['', '?refresh=off', '?action=pause&name=thumbnails']) {
      await page.goto(url + query)
      await check(page, query)
    }
    await page.getByLabel('For how long').fill('2h')
    await page.getByLabel('Reason').fill('a trial')
    await page.getByRole('button', { name: 'pause' }).click()
    await page.getByRole('link', { name: 'resume thumbnails' }).waitFor()
    await check(page, 'done')
    await page.getByRole('link', { name: 'release import-orders', exact: true }).click()
    await check(page, 'release')
    expect([...found, ...complaints]).toEqual([])
  })

  it('a screen reader finds a table, its columns, and each action by the name of its lock', async () => {
    const { url } = await serve(insertTwelve, { overdueAfter: OVERDUE_AFTER })
    const { page } = await visit(url, screen)
    const table = page.getByRole('table', { name: 'Jobs' })
    expect(await table.getByRole('columnheader').allTextContents()).toContain('Locked at')
    expect(await table.getByRole('row').count()).toBe(13)
    // An empty cell takes no room on a phone.
    const cells = screen.viewport.width < 900 ? 6 : 7
    expect(await table.getByRole('row').nth(1).getByRole('cell').count()).toBe(cells)
    await page.getByRole('link', { name: 'release import-orders', exact: true }).click()
    expect(await page.getByRole('definition').first().innerText()).toBe('worker-58b6f/17')
  })
})

it('a job is paused and resumed, and a lock released, without scripts', async () => {
  const server = await serve(insertTwelve)
  const { page, complaints } = await visit(server.url)
  await page.getByRole('link', { name: 'pause thumbnails' }).click()
  const pause = page.getByRole('button', { name: 'pause' })
  await pause.click()
  // The browser wants a reason first, and a duration that it can describe.
  expect(await pause.isVisible()).toBe(true)
  const duration = page.getByLabel('For how long')
  expect(await duration.getAttribute('title')).toBe('A whole number and a unit: 30m, 8h or 2d')
  await duration.fill('2h')
  await page.getByLabel('Why').fill('<b>disk is full</b>')
  await pause.click()
  expect(await text(page, 'thumbnails', 'State')).toMatch(/^paused\n/)
  expect(await text(page, 'thumbnails', 'Owner')).toBe('paused by ann: <b>disk is full</b>')
  // The browser is at the row, and marks it.
  expect(await page.locator('tr:target').getAttribute('id')).toBe('/thumbnails')
  expect((await server.provider.table.find('thumbnails'))?.paused).toBe(true)

  await page.getByRole('link', { name: 'resume thumbnails' }).click()
  await page.getByRole('button', { name: 'resume' }).click()
  expect(await text(page, 'thumbnails', 'State')).toMatch(/^idle/)

  await page.getByRole('link', { name: 'release import-orders' }).click()
  expect(await page.getByText('worker-58b6f/17').isVisible()).toBe(true)
  expect((await server.provider.table.find('import-orders'))?.held).toBe(true)
  await page.getByRole('button', { name: 'release' }).click()
  expect(await text(page, 'import-orders', 'State')).toMatch(/^idle/)
  expect(complaints).toEqual([])
})

it('a keyboard is enough', async () => {
  const server = await serve(insertHeld('job'))
  const { page } = await visit(`${server.url}?refresh=off`)
  const focused = (): Promise<string> => page.locator(':focus').innerText()
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('Refresh every 15 seconds')
  const seen: string[] = []
  while ((await page.locator(':focus').getAttribute('aria-label')) !== 'release job' && seen.length < 20) {
    await page.keyboard.press('Tab')
    seen.push(await focused())
  }
  expect(seen).toEqual([expect.stringMatching(/release/i)])
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'release' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText('idle', { exact: true }).waitFor()
  expect((await server.provider.table.find('job'))?.held).toBe(false)
})

it('shows what is new in its place: the focus stays, and an app that does not answer is reported in the tab', async () => {
  const server = await serve(insertHeld('job'))
  const { page, complaints } = await visit(server.url, { javaScriptEnabled: true })
  await page.getByRole('link', { name: 'release job' }).focus()
  await insertHeld('new')(server)
  await page.getByText('new', { exact: true }).waitFor({ timeout: 60_000 })
  expect(await page.locator(':focus').getAttribute('aria-label')).toBe('release job')
  expect(complaints).toEqual([])
  await page.route('**', (route) => route.abort())
  await page.getByText('The app does not answer.').waitFor({ timeout: 60_000 })
  expect(await page.title()).toBe('No answer: Nothing is known to be wrong (without a limit: 2 of 2 jobs)')
})

it('two columns fit a tablet, paper has only the list, and forced colours keep borders', async () => {
  const { page } = await visit((await serve(insertTwelve, { title: 'Shop, production' })).url, {
    ...{ javaScriptEnabled: true, viewport: { width: 768, height: 900 } },
  })
  const [first, second] = await page
    .getByRole('row')
    .all()
    .then((rows) => Promise.all(rows.slice(1, 3).map((row) => row.boundingBox())))
  expect(first?.y).toBe(second?.y)
  await page.emulateMedia({ forcedColors: 'active' })
  expect(await page.evaluate("getComputedStyle(document.querySelector('.state')).borderTopWidth")).toBe('1px')
  await page.emulateMedia({ media: 'print', forcedColors: 'none' })
  await page.setViewportSize({ width: 718, height: 900 })
  expect(await excessOf(page)).toBeLessThanOrEqual(0)
  expect(await page.getByRole('link').filter({ visible: true }).count()).toBe(0)
  // Browsers print no backgrounds, and white on paper nobody can read.
  const colours = "['.title', 'h1'].map((each) => getComputedStyle(document.querySelector(each)).color)"
  const [title, heading] = await page.evaluate<string[]>(colours)
  expect(title).toBe(heading)
})

describe('another site', () => {
  const serveAttack = (html: string): Promise<number> =>
    listening(createServer((_request, response) => response.setHeader('content-type', 'text/html').end(html)))

  it.each(['127.0.0.1', 'localhost'])('on %s cannot change anything', async (host) => {
    const { url, provider } = await serve()
    const form = `<form method="post" action="${url}?action=pause&name=job"><input name="for" value="1h"><input name="reason" value="r"></form>`
    const port = await serveAttack(`${form}<script>document.forms[0].submit()</script>`)
    const page = await newPage()
    const answered = page.waitForResponse((response) => response.url().startsWith(url))
    await page.goto(`http://${host}:${port}/`)
    expect((await answered).status()).toBe(403)
    expect(await provider.table.list()).toEqual([])
  })

  it('cannot show the page in a frame, nor read it', async () => {
    const { url } = await serve(insertHeld('secret'))
    const port = await serveAttack(
      `<iframe src="${url}"></iframe><script>fetch('${url}').then(() => document.title = 'read', () => document.title = 'not read')</script>`,
    )
    const page = await newPage()
    await page.goto(`http://localhost:${port}/`)
    await page.waitForFunction('document.title !== ""')
    expect(await page.title()).toBe('not read')
    expect(await page.frameLocator('iframe').getByText('secret').count()).toBe(0)
  })
})
