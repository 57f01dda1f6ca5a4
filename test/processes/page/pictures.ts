import { join } from 'node:path'
import { openBrowser, servePage } from './page-server'
import { insertTwelve, knownJobs, OVERDUE_AFTER } from './rows'

const [, , FOLDER = join(__dirname, '../../../docs/page')] = process.argv

const SIZES = [
  { prefix: '', width: 1_200, height: 800 },
  { prefix: 'phone-', width: 390, height: 800 },
] as const

/** Draws the pictures of the guide, into another folder if that is named. */
async function main(): Promise<void> {
  const browser = await openBrowser()
  const server = await servePage({
    overdueAfter: OVERDUE_AFTER,
    title: 'Shop, production',
    jobs: knownJobs(),
  })
  try {
    await insertTwelve(server)
    for (const { prefix, width, height } of SIZES)
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await browser.newPage({ colorScheme, viewport: { width, height } })
        await page.goto(server.url)
        await page.screenshot({ path: join(FOLDER, `${prefix}${colorScheme}.png`) })
        await page.close()
      }
  } finally {
    await browser.close()
    await server.close()
  }
}

void main()
