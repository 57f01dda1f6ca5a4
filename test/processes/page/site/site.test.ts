import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { CASES } from '../../../../site/playground/cases'
import { sentences } from '../../../../site/playground/sentences'
import { excessOf, newPage, SCREENS, violations } from '../visitor'
import { serveSite, SITE } from './site-server'

const PAGES = [
  '/404',
  '/',
  '/docs/guides/from-an-empty-folder',
  '/docs/options',
  '/docs/schedulers',
  '/docs/performance',
  '/docs/api/shedlock-orm/classes/LockingTaskExecutor',
]
const read = (file: string): string => readFileSync(join(SITE, file), 'utf8')
const llmsLinks = (): URL[] =>
  [...read('llms.txt').matchAll(/\]\((.*?)\)/g)].map(([, link = '']) => new URL(link))
let site: string

beforeAll(async () => {
  site = await serveSite()
})

/** A page at the end of what it loads, and what it did not find. */
async function visit(
  path: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; missing: string[] }> {
  const page = await newPage(options)
  const missing: string[] = []
  page.on('response', (response) => response.ok() || missing.push(response.url()))
  await page.goto(site + path, { waitUntil: 'networkidle' })
  return { page, missing }
}

describe.each(SCREENS)('at $viewport.width pixels, $colorScheme', (screen) => {
  it.each(PAGES)('%s fits, and axe-core finds nothing wrong', async (path) => {
    const { page, missing } = await visit(path, screen)
    if (path === '/') {
      await page.locator('.track .run').first().waitFor()
      await page.getByText('The code, and its values to choose').click()
    }
    expect(await excessOf(page)).toBe(0)
    expect([...missing, ...(await violations(page))]).toEqual([])
  })
})

/** How much wider the content of elements is than they are. Empty: nothing is cut. */
function cut(page: Page, selector: string): Promise<unknown> {
  const wider = `({ scrollWidth, clientWidth }) => scrollWidth - clientWidth`
  return page.evaluate(
    `[...document.querySelectorAll('${selector}')].map(${wider}).filter((pixels) => pixels > 1)`,
  )
}

it('at 1,280 pixels no program and no table for users is cut', async () => {
  const { page } = await visit('/')
  const paths = llmsLinks().map(({ pathname }) => pathname.replace(/(index)?\.md$/, ''))
  const forUsers = paths.filter((path) => !/\/(docs\/(api|maintainers)\/|[A-Z]+$)/.test(path))
  expect(forUsers.length).toBeGreaterThan(20)
  for (const path of forUsers) {
    await page.goto(site + path)
    expect([path, await cut(page, '.vp-doc :is(pre, table)')]).toEqual([path, []])
  }
})

const allPages = (): string[] =>
  readdirSync(SITE, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.html') && !read(file).includes('http-equiv="refresh"'),
  )

it('on a phone no page is wider than its window: tables scroll inside', async () => {
  const viewport = { width: 360, height: 800 }
  const scripted = await newPage({ viewport })
  // The hundred pages of the API are the same with and without script, and load much faster without.
  const plain = await newPage({ viewport, javaScriptEnabled: false })
  const wide: string[] = []
  for (const file of allPages()) {
    const page = file.startsWith('docs/api/') ? plain : scripted
    await page.goto(`${site}/${file.replace(/(index)?\.html$/, '')}`)
    for (const width of page === plain ? [360] : [360, 390]) {
      await page.setViewportSize({ width, height: 800 })
      const excess = await excessOf(page)
      if (excess > 0) wide.push(`${file} at ${width}: ${excess}`)
    }
  }
  expect(wide).toEqual([])
})

it('each page has a title of its own', () => {
  const titles = allPages().map((file) => /<title>([^<]*)/.exec(read(file))?.[1])
  expect(titles.length).toBeGreaterThan(100)
  expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([])
})

/** Waits until the heading of the address is at the top; the last headings of a page cannot reach it. */
const landed = (page: Page) =>
  page.waitForFunction(`(() => {
    const { top } = document.getElementById(decodeURIComponent(location.hash.slice(1))).getBoundingClientRect()
    const isAtTheEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2
    return Math.abs(top - 120) < 80 || (isAtTheEnd && top > 0 && top < innerHeight)
  })()`)

it('one set-up is shown at a time, and links to the others land on them', async () => {
  const { page } = await visit('/#nestjs')
  const expectShown = async (name: string): Promise<void> => {
    await page.locator('.set-ups').getByRole('heading', { level: 2, name }).waitFor()
    await landed(page)
    expect(await page.locator('.set-ups h2:visible').count()).toBe(1)
  }
  await expectShown('NestJS')
  await page.getByRole('navigation', { name: 'Set-ups' }).getByRole('link', { name: 'Prisma' }).click()
  await expectShown('Prisma')
  await page.locator('.vp-doc').getByRole('link', { name: 'TypeORM', exact: true }).first().click()
  await expectShown('TypeORM')
})

it('the programs of the schedulers are tabs on the first screen', async () => {
  const { page } = await visit('/docs/schedulers', { viewport: { width: 1_280, height: 800 } })
  const programs = page.locator('.vp-code-group').first()
  const shown = programs.locator('pre:visible')
  for (const name of ['node-cron', 'croner', 'cron', 'node-schedule']) {
    await programs.getByText(name, { exact: true }).first().click()
    await shown.getByText(`// ${name}.ts`).waitFor()
    expect(await shown.count()).toBe(1)
  }
  const { y = NaN } = (await shown.boundingBox()) ?? {}
  expect(y).toBeLessThan(400)
})

it('on a phone pictures have the form that is drawn for it', async () => {
  const { page } = await visit('/docs/guides/page', SCREENS[0])
  await page.locator('img[alt="Trouble comes first"]:visible').scrollIntoViewIfNeeded()
  await page.waitForFunction(
    `[...document.images].some(({ currentSrc }) => /phone-dark/.test(currentSrc)) && ![...document.images].some(({ currentSrc }) => /\\/light/.test(currentSrc))`,
  )
})

it.each(['/', '/docs/guides/page', '/docs/schedulers', '/docs/performance'])(
  'on %s each link of the outline lands on its heading',
  async (path) => {
    const { page } = await visit(path)
    const links = await page.locator('.VPDocAsideOutline a').all()
    expect(links.length).toBeGreaterThan(0)
    for (const link of links) {
      await link.click()
      await landed(page)
    }
  },
)

it('old addresses of pages lead to the new ones', async () => {
  const { page } = await visit('/docs/semantics#slots')
  await page.waitForURL('**/docs/schedulers#slots')
  await page.goto(`${site}/docs/tasks#errors`)
  await page.waitForURL('**/docs/options#errors')
})

it("the links of the playground's sentences and cases lead to headings", () => {
  for (const link of [...Object.values(sentences).map(([, , to]) => to), ...CASES.map((each) => each.link)]) {
    const [page, heading = ''] = link.split('#')
    expect(read(`${page}.html`)).toContain(heading && ` id="${heading}"`)
  }
})

it('each page has a description, a picture, and itself as Markdown; llms.txt leads to all of them', () => {
  const links = llmsLinks()
  expect(links.length).toBeGreaterThan(25)
  expect(links.filter(({ pathname }) => !existsSync(join(SITE, pathname)))).toEqual([])
  const descriptions = links.map(({ pathname }) => {
    const html = read(pathname.replace(/md$/, 'html'))
    expect(html).toMatch(/<meta property="og:image" content="https?:[^"]+card\.png">/)
    return /<meta name="description" content="([^"]*)">/.exec(html)?.[1]
  })
  expect(descriptions.filter((text = '') => text.length < 20)).toEqual([])
  expect(new Set(descriptions).size).toBe(descriptions.length)
})
