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
  it.each(PAGES)('%s fits, and axe-core finds nothing wrong, light and dark', async (path) => {
    const { page, missing } = await visit(path, { colorScheme: 'light', viewport: { width, height: 800 } })
    if (path === '/') {
      await page.locator('.track .run').first().waitFor()
      await page.getByText('The code, and its values to choose').click()
    }
    expect(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')).toBe(0)
    expect([...missing, ...(await violations(page))]).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.locator('html.dark').waitFor()
    expect(await violations(page)).toEqual([])
  })
})

/** How much wider the content of elements is than they are. Empty: nothing is cut. */
function cut(page: Page, selector: string): Promise<unknown> {
  const wider = `({ scrollWidth, clientWidth }) => scrollWidth - clientWidth`
  return page.evaluate(
    `[...document.querySelectorAll('${selector}')].map(${wider}).filter((pixels) => pixels > 1)`,
  )
}

it('at every width the top bar fits', async () => {
  const { page } = await visit('/docs/options')
  const wide = []
  for (let width = 320; width <= 1_920; width += 32) {
    await page.setViewportSize({ width, height: 800 })
    if ((await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')) !== 0)
      wide.push(width)
  }
  expect(wide).toEqual([])
})

it('at 1,280 pixels no program and no table for users is cut', async () => {
  const { page } = await visit('/')
  const links = [...readFileSync(join(SITE, 'llms.txt'), 'utf8').matchAll(/\]\((.*?)\.md\)/g)]
  const paths = links.map(([, link = '']) => new URL(link).pathname.replace(/index$/, ''))
  const forUsers = paths.filter((path) => !/\/(docs\/(api|maintainers)\/|[A-Z]+$)/.test(path))
  expect(forUsers.length).toBeGreaterThan(25)
  const found = []
  for (const path of forUsers) {
    await page.goto(site.url + path)
    found.push([path, await cut(page, '.vp-doc :is(pre, table)')])
  }
  expect(found).toEqual(forUsers.map((path) => [path, []]))
})

it('on a phone the options show their meanings', async () => {
  const { page } = await visit('/docs/options', { viewport: { width: 390, height: 844 } })
  expect(await cut(page, '.vp-doc table')).toEqual([])
})

describe.each([
  [1280, 800],
  [390, 844],
])('the first screen of %d × %d pixels', (width, height) => {
  it('shows the sentence, the whole program and the running timelines', async () => {
    const { page } = await visit('/', { viewport: { width, height } })
    await page.locator('.track .run').first().waitFor()
    const [sentence, program] = [page.locator('.vp-doc p').first(), page.locator('.vp-doc pre').first()]
    for (const one of [sentence, program, ...(await page.locator('.track').all())]) {
      const { y = NaN, height: high = NaN } = (await one.boundingBox()) ?? {}
      expect(y + high).toBeLessThanOrEqual(height)
    }
    expect(await cut(page, '.vp-doc > div > div:first-of-type pre')).toEqual([])
  })
})

it('one set-up is shown at a time, and links to the others land on them', async () => {
  const { page } = await visit('/#nestjs')
  const heading = (name: string) => page.locator('.set-ups').getByRole('heading', { level: 2, name })
  const landed = () =>
    page.waitForFunction(
      `Math.abs(document.querySelector(location.hash).getBoundingClientRect().top - 120) < 80`,
    )
  await heading('NestJS').waitFor()
  await landed()
  await page.getByRole('navigation', { name: 'Set-ups' }).getByRole('link', { name: 'Prisma' }).click()
  await heading('Prisma').waitFor()
  await landed()
  expect(await heading('NestJS').isVisible()).toBe(false)
  await page.locator('.vp-doc').getByRole('link', { name: 'TypeORM', exact: true }).first().click()
  await heading('TypeORM').waitFor()
  await landed()
})

it.each(['/', '/docs/guides/page', '/docs/guides/durations', '/docs/performance'])(
  'on %s each link of the outline lands on its heading',
  async (path) => {
    const { page } = await visit(path)
    const links = await page.locator('.VPDocAsideOutline a').all()
    expect(links.length).toBeGreaterThan(0)
    for (const link of links) {
      await link.click()
      // The last headings of a page cannot reach the top of the window.
      await page.waitForFunction(`(() => {
        const { top } = document.getElementById(decodeURIComponent(location.hash.slice(1))).getBoundingClientRect()
        const isAtTheEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2
        return Math.abs(top - 120) < 80 || (isAtTheEnd && top > 0 && top < innerHeight)
      })()`)
    }
  },
)

it('an address that no page has leads to all pages', async () => {
  const { page } = await visit('/docs/nothing')
  await page.getByRole('link', { name: 'all pages' }).click()
  await page.getByRole('heading', { level: 1, name: 'Documentation' }).waitFor()
})

it('the menu of a phone leads to the pages', async () => {
  const { page } = await visit('/', { viewport: { width: 390, height: 800 } })
  await page.getByRole('button', { name: 'mobile navigation' }).click()
  await page.getByRole('link', { name: 'Options', exact: true }).first().click()
  await page.getByRole('heading', { level: 1, name: 'Options' }).waitFor()
})

/** Returns where the first result of the search leads to. */
async function firstResult(page: Page, word: string): Promise<string> {
  const first = page.locator('.result').first()
  await page.getByRole('searchbox').fill('')
  await first.waitFor({ state: 'detached' })
  await page.getByRole('searchbox').fill(word)
  return (await first.getAttribute('href')) ?? ''
}

it('the search finds exported names first, and what people look for', async () => {
  const api = join(SITE, 'docs/api')
  const names = readdirSync(api, { recursive: true, encoding: 'utf8' })
    .map((file) => /(?:classes|functions|interfaces|type-aliases|variables)\/(\w+)\.html$/.exec(file)?.[1])
    .filter((name) => name !== undefined)
  expect(names.length).toBeGreaterThan(90)
  const { page } = await visit('/docs/options')
  await page.getByRole('button', { name: 'Search' }).click()
  const missed = []
  // Every sixth, because each takes most of a second.
  for (const name of names.filter((_, index) => index % 6 === 0)) {
    const first = await firstResult(page, name)
    // An interface may differ from a function only in its first letter.
    if (!first.replace(/#.*/, '').toLowerCase().endsWith(`/${name.toLowerCase()}`)) missed.push([name, first])
  }
  expect(missed).toEqual([])
  for (const [word, path] of [
    ['lockAtMostFor', '/docs/options#a-lock'],
    ['failover', '/docs/guides/failover'],
    ['TABLE_MISSING', '/docs/tasks#errors'],
    ['SKIPPED', '/docs/tasks#errors'],
  ] as const)
    expect(await firstResult(page, word)).toContain(path)
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
