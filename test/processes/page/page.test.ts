import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { afterFile, afterTest } from '../../after-test'
import { HOSTILE } from '../../web/hostile'
import { violations } from './accessible'
import { openBrowser, servePage, type PageServer } from './page-server'
import { insertTwelve, OVERDUE_AFTER } from './rows'

let browser: Browser

beforeAll(async () => {
  browser = await openBrowser()
  afterFile(() => browser.close())
})

async function serve(...options: Parameters<typeof servePage>): Promise<PageServer> {
  const server = await servePage(...options)
  afterTest(() => server.close())
  return server
}

/** A page of a visitor whose browser runs no scripts, and all that it complained of. */
async function visit(
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ javaScriptEnabled: false, ...options })
  afterTest(() => context.close())
  const page = await context.newPage()
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

/** How much wider than its window it is. */
const excessOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')

const texts = ({ page }: { page: Page }, label: string): Promise<string[]> =>
  page.locator(`td[data-label="${label}"]`).allInnerTexts()

describe.each([390, 1280])('at %d pixels', (width) => {
  const viewport = { width, height: 800 }

  it.each([
    ['no', () => Promise.resolve()],
    ['two thousand', insertMany],
    ['hostile', insertHostile],
  ] as const)('%s locks fit, and load and say nothing else', async (_, insert) => {
    const server = await serve({ overdueAfter: {} })
    await insert(server)
    // With scripts, so that those of a name would run.
    const { page, complaints } = await visit(server.url, { viewport, javaScriptEnabled: true })
    expect(await excessOf(page)).toBe(0)
    expect(complaints).toEqual([])
  })

  it('twelve locks fit, and axe-core finds nothing wrong, light and dark', async () => {
    const found: string[] = []
    const look = async (page: Page, where: string): Promise<void> => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        for (const wrong of await violations(page)) found.push(`${where}, ${colorScheme}: ${wrong}`)
      }
    }
    const visitTitled = async (title: string) => {
      const server = await serve({ overdueAfter: OVERDUE_AFTER, title })
      await insertTwelve(server)
      const visited = await visit(server.url, { viewport, bypassCSP: true, javaScriptEnabled: true })
      return { ...visited, url: server.url }
    }
    // The two differ in the colour of their titles.
    await look((await visitTitled('Shop, staging')).page, 'staging')
    const { page, complaints, url } = await visitTitled('Shop, production')
    expect(await excessOf(page)).toBe(0)
    for (const query of [
      ...['', '?refresh=filter&q=a', '?refresh=off', '?q=nothing', '?page=2'],
      '?action=pause&name=thumbnails',
    ]) {
      await page.goto(url + query)
      await look(page, query)
    }
    await page.getByLabel('For how long').fill('2h')
    await page.getByLabel('Reason').fill('a trial')
    await page.getByRole('button', { name: 'pause' }).click()
    await page.getByRole('status').waitFor()
    await look(page, 'done')
    await page.goto(url)
    await page.getByRole('link', { name: 'release import-orders', exact: true }).click()
    await look(page, 'release')
    expect(found).toEqual([])
    expect(complaints).toEqual([])
  })

  it('a screen reader finds a table, its columns, and each action by the name of its lock', async () => {
    const server = await serve({ overdueAfter: OVERDUE_AFTER })
    await insertTwelve(server)
    const { page } = await visit(server.url, { viewport })
    const table = page.getByRole('table', { name: 'Locks' })
    expect(await table.getByRole('columnheader').allTextContents()).toContain('Locked at')
    expect(await table.getByRole('row').count()).toBe(13)
    // An empty cell takes no room on a phone.
    expect(await table.getByRole('row').nth(1).getByRole('cell').count()).toBe(width < 900 ? 6 : 7)
    await page.getByRole('link', { name: 'release import-orders', exact: true }).click()
    expect(await page.getByRole('definition').first().innerText()).toBe('worker-58b6f/17')
  })
})

it('the page fits its window at every width, with the widest rows', async () => {
  const server = await serve({ overdueAfter: OVERDUE_AFTER })
  await insertTwelve(server)
  await server.insert('locked in the future', { owner: 'api-7f9c4d/1', at: 3_600 * 24 * 99, until: -1 })
  const { page } = await visit(server.url)
  const tooWide: number[] = []
  for (let width = 320; width <= 1_920; width += 20) {
    await page.setViewportSize({ width, height: 800 })
    if ((await excessOf(page)) > 0) tooWide.push(width)
  }
  expect(tooWide).toEqual([])
})

it('a job is paused and resumed, and a lock released, without scripts', async () => {
  const server = await serve()
  await insertTwelve(server)
  const { page, complaints } = await visit(server.url)
  await page.getByRole('link', { name: 'pause thumbnails' }).click()
  const pause = page.getByRole('button', { name: 'pause' })
  await pause.click()
  // The browser wants a reason first, and a duration that it can describe.
  expect(await page.getByRole('button', { name: 'pause' }).isVisible()).toBe(true)
  const duration = page.getByLabel('For how long')
  expect(await duration.getAttribute('title')).toBe('A whole number and a unit: 30m, 8h or 2d')
  await duration.fill('2h')
  await page.getByLabel('Why').fill('<b>disk is full</b>')
  await pause.click()
  expect(await page.getByRole('status').innerText()).toBe('Done. The job thumbnails is paused.')
  expect(await texts({ page }, 'State')).toEqual(['paused'])
  expect(await texts({ page }, 'Owner')).toEqual(['paused by ann: <b>disk is full</b>'])
  expect((await server.provider.table.find('thumbnails'))?.paused).toBe(true)

  await page.getByRole('link', { name: 'resume thumbnails' }).click()
  await page.getByRole('button', { name: 'resume' }).click()
  expect(await texts({ page }, 'State')).toEqual(['free'])

  await page.getByRole('link', { name: 'Show all' }).click()
  await page.getByRole('link', { name: 'release import-orders' }).click()
  expect(await page.getByText('worker-58b6f/17').isVisible()).toBe(true)
  expect((await server.provider.table.find('import-orders'))?.held).toBe(true)
  await page.getByRole('button', { name: 'release' }).click()
  expect(await texts({ page }, 'State')).toEqual(['free'])
  expect(complaints).toEqual([])
})

it('a keyboard is enough', async () => {
  const server = await serve()
  await server.insert('job', { owner: 'host/1', at: -60, until: 600 })
  const { page } = await visit(`${server.url}?refresh=off`)
  const focused = (): Promise<string> => page.locator(':focus').innerText()
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('Refresh every 15 seconds')
  const seen: string[] = []
  while ((await page.locator(':focus').getAttribute('aria-label')) !== 'release job' && seen.length < 20) {
    await page.keyboard.press('Tab')
    seen.push(await focused())
  }
  expect(seen).toEqual(['all 1', 'held 1', '', 'Filter', expect.stringMatching(/release/i)])
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'release' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText('free', { exact: true }).waitFor()
  expect((await server.provider.table.find('job'))?.held).toBe(false)
})

it('loads itself again, but what is typed into the filter stays, and so does the focus, however long one types', async () => {
  const server = await serve()
  await server.insert('import', { owner: 'host/1', at: -60, until: 600 })
  await server.insert('export', { owner: 'host/1', at: -60, until: 600 })
  const { page } = await visit(server.url)
  const other = await page.context().newPage()
  await other.goto(server.url)
  await page.getByRole('link', { name: 'Filter by name, state or owner' }).click()
  const field = page.getByRole('searchbox')
  await page.locator('[name=q]:focus').waitFor()
  await page.keyboard.type('imp')
  await server.insert('late', { owner: 'host/1', at: -60, until: 600 })
  // By now the page would have loaded itself again.
  await other.getByText('late').waitFor({ timeout: 60_000 })
  await page.keyboard.type('ort')
  expect(await field.inputValue()).toBe('import')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Filter by name, state or owner: import' }).waitFor()
  expect(await texts({ page }, 'Lock')).toEqual(['import'])
})

it('the head of the table stays in sight', async () => {
  const server = await serve()
  await insertMany(server)
  const { page } = await visit(server.url)
  await page.getByRole('link', { name: 'Next' }).scrollIntoViewIfNeeded()
  expect((await page.getByRole('columnheader', { name: 'Locked at' }).boundingBox())?.y).toBe(0)
})

describe('another site', () => {
  /** A page that posts to ours as soon as it is open, and one that shows ours in a frame. */
  async function attack(html: string): Promise<number> {
    const evil = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(html)
    })
    evil.listen(0, '127.0.0.1')
    await once(evil, 'listening')
    afterTest(() => {
      evil.closeAllConnections()
      evil.close()
    })
    return (evil.address() as AddressInfo).port
  }

  it.each(['127.0.0.1', 'localhost'])('on %s cannot change anything', async (host) => {
    const server = await serve()
    const form = `<form method="post" action="${server.url}?action=pause&name=job"><input name="for" value="1h"><input name="reason" value="r"></form>`
    const port = await attack(`${form}<script>document.forms[0].submit()</script>`)
    const { page } = await visit(server.url)
    const context = await browser.newContext()
    afterTest(() => context.close())
    const evil = await context.newPage()
    const answered = evil.waitForResponse((response) => response.url().startsWith(server.url))
    await evil.goto(`http://${host}:${port}/`)
    expect((await answered).status()).toBe(403)
    await page.reload()
    expect(await page.getByText('There are no locks yet.').isVisible()).toBe(true)
  })

  it('cannot show the page in a frame, nor read it', async () => {
    const server = await serve()
    await server.insert('secret', { owner: 'host/1', at: -60, until: 600 })
    const port = await attack(
      `<iframe src="${server.url}"></iframe><script>fetch('${server.url}').then(() => document.title = 'read', () => document.title = 'not read')</script>`,
    )
    const { page } = await visit(`http://localhost:${port}/`, { javaScriptEnabled: true })
    await page.waitForFunction('document.title !== ""')
    expect(await page.title()).toBe('not read')
    expect(await page.frameLocator('iframe').getByText('secret').count()).toBe(0)
  })
})

async function insertMany({ insert }: PageServer): Promise<void> {
  for (let index = 0; index < 2_000; index++)
    await insert(`tenant-${index}:report`, {
      owner: `worker-${index % 7}/1`,
      at: -index,
      until: index % 50 ? -1 : 60,
    })
}

async function insertHostile({ insert }: PageServer): Promise<void> {
  for (const text of [...HOSTILE, 'x'.repeat(64)])
    await insert(text, { owner: text.padEnd(200, text), at: -60, until: 600 })
}
