import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { beforeAll, expect, it } from '@jest/globals'
import { afterFile, afterTest } from '../../../after-test'
import { openBrowser } from '../page-server'
import { serveSite } from './site-server'

/** What an instance reports (`what`), or a row that the database shows (`lockedBy`). */
interface Seen {
  readonly by: string
  readonly what?: 'begins' | 'ends' | 'loses its lock' | 'skips' | 'fails'
  readonly at: number
  readonly due?: number
  readonly run?: number
  readonly until?: number
  readonly why?: string
  readonly lockedBy?: string
}

const INSTANCES = ['A', 'B', 'C']
/** Listens to the workers beside the page. */
const LISTEN = `
  seen = []
  Worker = class extends Worker {
    constructor(url, options) {
      super(url, options)
      this.addEventListener('message', ({ data }) => seen.push({ ...data, by: options.name ?? 'database' }))
    }
  }`

let browser: Browser
let site: Awaited<ReturnType<typeof serveSite>>

beforeAll(async () => {
  browser = await openBrowser()
  afterFile(() => browser.close())
  site = await serveSite()
  afterFile(() => site.close())
})

async function open(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options)
  afterTest(() => context.close())
  const page = await context.newPage()
  if (options.javaScriptEnabled !== false) await page.addInitScript(LISTEN)
  await page.goto(site.url)
  if (options.javaScriptEnabled !== false) await page.getByText('The code, and its values to choose').click()
  return page
}

async function press(page: Page, name: string): Promise<void> {
  await page.locator('.playground').getByRole('button', { name, exact: true }).click()
}

/** Waits until something can be found in all that was seen so far. */
async function until<Found>(page: Page, find: (seen: Seen[]) => Found | undefined): Promise<Found> {
  for (;;) {
    const seen = await page.evaluate<Seen[]>('seen')
    const found = find(seen)
    if (found !== undefined) return found
    await page.waitForFunction(`seen.length > ${seen.length}`)
  }
}

/** How often each of the ticks after this one was run. */
function runsOf(seen: readonly Seen[], after: number): number[] {
  const runs = new Map<number, number>()
  for (const { what, due = 0 } of seen)
    if (what === 'begins' && due > after) runs.set(due, (runs.get(due) ?? 0) + 1)
  return [...runs.values()]
}

/** The last tick so far. */
async function lastTick(page: Page): Promise<number> {
  return Math.max(0, ...(await page.evaluate<Seen[]>('seen')).flatMap(({ due }) => due ?? []))
}

/** From the tick after the next one on, until several ticks were run, no tick is run twice. */
async function expectOneRunForEachTick(page: Page): Promise<void> {
  const tick = (await lastTick(page)) + 2_000
  const runs = await until(page, (seen) => {
    const found = runsOf(seen, tick)
    return found.length > 3 ? found : undefined
  })
  expect(Math.max(...runs)).toBe(1)
}

/** Waits until a tick is run so often. */
async function untilRun(page: Page, times: number): Promise<void> {
  const tick = await lastTick(page)
  await until(page, (seen) => (runsOf(seen, tick).includes(times) ? true : undefined))
}

/** Waits for a run, and does something to its instance while it runs: again with another run, if that was over sooner. */
async function duringARun(page: Page, act: string, undo: string): Promise<Seen> {
  await page.getByRole('combobox', { name: 'takes' }).selectOption('3000')
  for (let after = 0; ;) {
    const run = await until(page, (seen) => {
      const ended = (one: Seen) =>
        seen.some(({ what, by, run }) => what === 'ends' && by === one.by && run === one.run)
      return seen.slice(after).find((each) => each.what === 'begins' && !ended(each))
    })
    await press(page, `${act} ${run.by}`)
    after = await page.evaluate<number>('seen.length')
    const seen = await page.evaluate<Seen[]>('seen')
    if (!seen.some((each) => each.what === 'ends' && each.by === run.by && each.run === run.run)) return run
    await press(page, `${undo} ${run.by}`)
  }
}

const nextRun = (page: Page, run: Seen): Promise<Seen> =>
  until(page, (seen) => seen.find(({ what, at }) => what === 'begins' && at > run.at))

it('without the lock three instances run at each tick, with it one', async () => {
  const page = await open()
  await expectOneRunForEachTick(page)
  await press(page, 'Switch the lock off')
  await untilRun(page, 3)
  await press(page, 'Switch the lock on')
  await expectOneRunForEachTick(page)
})

it.each([
  ['lockAtLeastFor', 2],
  ['slot', 1],
])('a late clock runs ticks twice, until %s keeps it from that', async (name, cure) => {
  const page = await open()
  await press(page, 'Late clock A')
  await untilRun(page, 2)
  await page.getByRole('combobox', { name }).selectOption({ index: cure })
  await expectOneRunForEachTick(page)
})

it('after a kill nobody runs until the lock expires, then another instance', async () => {
  const page = await open()
  const killed = await duringARun(page, 'Kill', 'Start')
  const next = await nextRun(page, killed)
  expect(next.by).not.toBe(killed.by)
  expect(next.at).toBeGreaterThanOrEqual(killed.until ?? Infinity)
  const seen = await page.evaluate<Seen[]>('seen')
  expect(seen.filter(({ what, at }) => what === 'skips' && at > killed.at && at < next.at)).not.toEqual([])
})

it('an instance that was paused during its run has lost its lock when it wakes', async () => {
  const page = await open()
  const paused = await duringARun(page, 'Pause', 'Wake')
  const next = await nextRun(page, paused)
  expect(next.by).not.toBe(paused.by)
  await press(page, `Wake ${paused.by}`)
  const [row, lost] = await until(page, (seen) => {
    const at = seen.findIndex(
      ({ what, by, run }) => what === 'loses its lock' && by === paused.by && run === paused.run,
    )
    return at < 0
      ? undefined
      : ([seen.slice(0, at).findLast(({ by }) => by === 'database'), seen[at]] as const)
  })
  expect(lost?.at).toBeGreaterThanOrEqual(next.at)
  expect(row?.lockedBy).toMatch(new RegExp(`^${next.by}/`))
})

it('without an answer of the database no instance runs, and each tick ends with TIMEOUT', async () => {
  const page = await open()
  await until(page, (seen) => seen.find(({ what }) => what === 'ends'))
  await press(page, 'Cut the database off')
  const cut = await page.evaluate<number>('Date.now()')
  const failed = await until(page, (seen) => {
    // What was sent before may still be answered.
    const failures = seen.filter(({ what, due = 0 }) => what === 'fails' && due > cut)
    return failures.length >= 3 ? failures : undefined
  })
  expect(new Set(failed.map(({ why }) => why))).toEqual(new Set(['TIMEOUT']))
  const runs = (await page.evaluate<Seen[]>('seen')).filter(
    ({ what, due = 0 }) => what === 'begins' && due > cut,
  )
  expect(runs).toEqual([])
  await press(page, 'Connect the database')
  await until(page, (seen) => seen.find(({ what, due = 0 }) => what === 'begins' && due > cut))
})

it('each act says what is to be seen, with a link to a page and its heading', async () => {
  const page = await open()
  const links = new Set<string>()
  const remember = async () =>
    links.add((await page.getByRole('status').getByRole('link').getAttribute('href')) ?? '')
  await remember()
  const switches = ['Kill A', 'Start A', 'Pause A', 'Wake A', 'Late clock A', 'Right clock A'].concat([
    'Switch the lock off',
    'Switch the lock on',
    'Cut the database off',
    'Connect the database',
  ])
  for (const each of switches) await press(page, each).then(remember)
  for (const select of await page.getByRole('combobox').all())
    await select.selectOption({ index: 1 }).then(remember)
  expect(links.size).toBeGreaterThan(4)
  for (const link of links) {
    const { hash, href } = new URL(link, site.url)
    const response = await fetch(href)
    expect([link, response.status]).toEqual([link, 200])
    if (hash) expect(await response.text()).toContain(`id="${hash.slice(1)}"`)
  }
})

it('the text is there before the playground is loaded, which then needs no network', async () => {
  const page = await open()
  await until(page, (seen) => seen.find(({ what }) => what === 'begins'))
  const [painted, ...loaded] = await page.evaluate<number[]>(`[
    performance.getEntriesByName('first-contentful-paint')[0].startTime,
    ...performance.getEntriesByType('resource').filter(({ name }) => /workers|wasm/.test(name)).map((each) => each.startTime),
  ]`)
  expect(loaded.length).toBeGreaterThan(0)
  expect(Math.min(...loaded)).toBeGreaterThan(painted ?? Infinity)

  await page.context().setOffline(true)
  const requests: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  for (const name of INSTANCES) await press(page, `Kill ${name}`)
  const before = await page.evaluate<number>('seen.length')
  for (const name of INSTANCES) await press(page, `Start ${name}`)
  await until(page, (seen) => seen.slice(before).find(({ what }) => what === 'begins'))
  expect(requests.filter((url) => !url.startsWith('blob:'))).toEqual([])
})

it('a keyboard is enough', async () => {
  const page = await open()
  await until(page, (seen) => seen[0])
  await page.getByRole('button', { name: 'Kill A' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Start A' }).waitFor()
  const focused = () => page.locator(':focus').getAttribute('aria-label')
  while ((await focused()) !== 'lockAtMostFor') await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowDown')
  expect(await page.locator(':focus').inputValue()).toBe('10s')
})

it('who wants less motion starts it', async () => {
  const page = await open({ reducedMotion: 'reduce' })
  await press(page, 'Start')
  await until(page, (seen) => seen.find(({ what }) => what === 'begins'))
})

it('without scripts there is the picture', async () => {
  const page = await open({ javaScriptEnabled: false })
  expect(await page.locator('.playground').isVisible()).toBe(false)
  expect(await page.locator('.vp-doc img[src*="/demo"]').isVisible()).toBe(true)
})
