import { join } from 'node:path'
import { openBrowser, servePage } from './page-server'
import { insertTwelve, OVERDUE_AFTER } from './rows'

const [, , FOLDER = join(__dirname, '../../../docs/page')] = process.argv

const PICTURES = [
  { colorScheme: 'light', width: 1_280, height: 800 },
  { colorScheme: 'dark', width: 390, height: 800 },
] as const

/** Draws the pictures of the guide, into another folder if that is named. */
async function main(): Promise<void> {
  const browser = await openBrowser()
  const server = await servePage({ overdueAfter: OVERDUE_AFTER })
  try {
    await insertTwelve(server)
    for (const { colorScheme, width, height } of PICTURES) {
      const page = await browser.newPage({ colorScheme, viewport: { width, height } })
      await page.goto(server.url)
      await page.screenshot({ path: join(FOLDER, `${colorScheme}.png`) })
      await page.close()
    }
  } finally {
    await browser.close()
    await server.close()
  }
}

void main()
