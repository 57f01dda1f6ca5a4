import { readFileSync } from 'node:fs'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterFile, afterTest } from '../../after-test'
import { openBrowser } from './page-server'

let browser: Browser | undefined

/** A page of a visitor of its own, until the test is over. */
export async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  if (!browser) {
    const opened = (browser = await openBrowser())
    afterFile(() => opened.close())
  }
  const context = await browser.newContext(options)
  afterTest(() => context.close())
  return context.newPage()
}

/** Each width and each colour once: what is wrong in one layout or in one set of colours is so whatever the other is. */
export const SCREENS = [
  { colorScheme: 'dark', viewport: { width: 390, height: 800 } },
  { colorScheme: 'light', viewport: { width: 1_280, height: 800 } },
] as const

/** How much wider than its window a page is, in pixels. */
export const excessOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')

/** @returns the widths at which a page does not fit its window */
export async function tooWideAt(page: Page, step: number): Promise<number[]> {
  const widths: number[] = []
  for (let width = 320; width <= 1_920; width += step) {
    await page.setViewportSize({ width, height: 800 })
    if ((await excessOf(page)) > 0) widths.push(width)
  }
  return widths
}

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** What axe-core finds wrong with a page that runs scripts: the rule, and the elements. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target.join(' ') + ': ' + failureSummary)))`,
  )
}
