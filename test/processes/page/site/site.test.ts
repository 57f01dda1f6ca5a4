import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { afterFile, afterTest } from '../../../after-test'
import { violations } from '../accessible'
import { openBrowser } from '../page-server'
import { serveSite, SITE } from './site-server'

const PAGES = [
  '/',
  '/docs/guides/from-an-empty-folder',
  '/docs/options',
  '/docs/performance',
  '/docs/api/shedlock-orm/classes/LockingTaskExecutor',
]
let browser: Browser
let site: Awaited<ReturnType<typeof serveSite>>

beforeAll(async () => {
  browser = await openBrowser()
  afterFile(() => browser.close())
  site = await serveSite()
  afterFile(() => site.close())
})

/** A page at the end of what it loads, and what it did not find. */
async function visit(path: string, options: object = {}): Promise<{ page: Page; missing: string[] }> {
  const context = await browser.newContext(options)
  afterTest(() => context.close())
  const page = await context.newPage()
  const missing: string[] = []
  page.on('response', (response) => response.ok() || missing.push(response.url()))
  await page.goto(site.url + path, { waitUntil: 'networkidle' })
  return { page, missing }
}

describe.each([390, 1280])('at %d pixels', (width) => {
  it.each(PAGES)('%s fits, and axe-core finds nothing wrong', async (path) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, missing } = await visit(path, { colorScheme, viewport: { width, height: 800 } })
      expect(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')).toBe(0)
      expect([...missing, ...(await violations(page))]).toEqual([])
    }
  })
})

it('the menu of a phone leads to the pages', async () => {
  const { page } = await visit('/', { viewport: { width: 390, height: 800 } })
  await page.getByRole('button', { name: 'mobile navigation' }).click()
  await page.getByRole('link', { name: 'Options', exact: true }).first().click()
  await page.getByRole('heading', { level: 1, name: 'Options' }).waitFor()
})

it.each([
  ['lockAtMostFor', '/docs/options#a-lock'],
  ['failover', '/docs/guides/failover'],
  ['TABLE_MISSING', '/docs/tasks#errors'],
  ['SKIPPED', '/docs/tasks#errors'],
])('the search finds for %s first %s', async (word, path) => {
  const { page } = await visit('/')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('searchbox').fill(word)
  const first = page.locator('.result').first()
  await first.waitFor()
  expect(await first.getAttribute('href')).toContain(path)
})

it('the switch of the site decides which picture is shown, whatever the system says', async () => {
  const { page } = await visit('/docs/guides/page', { colorScheme: 'light' })
  const shown = (): Promise<string[]> =>
    page.evaluate(
      `[...document.querySelectorAll('.vp-doc img')].filter((one) => getComputedStyle(one).display !== 'none').map((one) => one.className)`,
    )
  expect(await shown()).toEqual(['only-light', 'only-light'])
  await page.getByRole('switch').first().click()
  expect(await shown()).toEqual(['only-dark', 'only-dark'])
})

it('each picture has its size, so that links to headings land where they point', () => {
  const pages = readdirSync(SITE, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.html'),
  )
  const pictures = pages.flatMap((file) =>
    [...readFileSync(join(SITE, file), 'utf8').matchAll(/<img [^>]*>/g)].map(
      ([picture]) => [file, picture] as const,
    ),
  )
  // The logo in the top bar has its size from the style.
  const inText = pictures.filter(([, picture]) => !/class="[^"]*logo/i.test(picture))
  expect(inText.length).toBeGreaterThan(10)
  expect(
    inText.filter(([, picture]) => !/ width="\d+"/.test(picture) || !/ height="\d+"/.test(picture)),
  ).toEqual([])
})

it('each page has a description, a picture, and itself as Markdown; llms.txt leads to all of them', () => {
  const read = (file: string): string => readFileSync(join(SITE, file), 'utf8')
  const links = [...read('llms.txt').matchAll(/\]\((.*?)\)/g)].map(([, link = '']) => new URL(link))
  expect(links.length).toBeGreaterThan(30)
  expect(links.filter(({ pathname }) => !existsSync(join(SITE, pathname)))).toEqual([])
  const descriptions = links.map(({ pathname }) => {
    const html = read(pathname.replace(/md$/, 'html'))
    expect(html).toMatch(/<meta property="og:image" content="https?:[^"]+card\.png">/)
    return /<meta name="description" content="([^"]*)">/.exec(html)?.[1]
  })
  expect(descriptions.filter((text = '') => text.length < 20)).toEqual([])
  expect(new Set(descriptions).size).toBe(descriptions.length)
})
