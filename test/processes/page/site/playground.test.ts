import type { BrowserContextOptions, Page } from 'playwright-core'
import { beforeAll, expect, it } from '@jest/globals'
import { CASES } from '../../../../site/playground/cases'
import { sentences } from '../../../../site/playground/sentences'
import { newPage } from '../visitor'
import { serveSite } from './site-server'

/** What an instance reports (`what`), its end, or a row that the database shows (`lockedBy`). */
interface Seen {
  readonly by: string
  readonly what?: 'begins' | 'ends' | 'loses its lock' | 'skips' | 'fails' | 'killed'
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
      this.by = options.name ?? 'database'
      this.addEventListener('message', ({ data }) => seen.push({ ...data, by: this.by }))
    }
    terminate() {
      seen.push({ what: 'killed', by: this.by, at: Date.now() })
      super.terminate()
    }
  }`

let site: string

beforeAll(async () => {
  site = await serveSite()
})

async function open(options: BrowserContextOptions = {}): Promise<Page> {
  const page = await newPage(options)
  await page.addInitScript(LISTEN)
  await page.goto(site)
  await page.getByText('The code, and its values to choose').click()
  return page
}

async function press(page: Page, name: string): Promise<void> {
  await page.locator('.playground').getByRole('button', { name, exact: true }).click()
}

/** Waits until something can be found in all that was seen so far. */
async function until<Found>(page: Page, find: (seen: Seen[]) => Found | undefined): Promise<Found> {
  for (;;) {
    const seen = await seenBy(page)
    const found = find(seen)
    if (found !== undefined) return found
    await page.waitForFunction(`seen.length > ${seen.length}`)
  }
}

const seenBy = (page: Page): Promise<Seen[]> => page.evaluate<Seen[]>('seen')
const isBegin = ({ what }: Seen): boolean => what === 'begins'

function runsOf(seen: readonly Seen[], after: number): number[] {
  const due = seen.filter((each) => isBegin(each) && (each.due ?? 0) > after).map((each) => each.due)
  return [...new Set(due)].map((tick) => due.filter((each) => each === tick).length)
}

const lastTick = async (page: Page): Promise<number> =>
  Math.max(0, ...(await seenBy(page)).flatMap(({ due }) => due ?? []))

/** From the tick after the next one on, until several ticks were run, no tick is run twice. */
async function expectOneRunForEachTick(page: Page): Promise<void> {
  const tick = (await lastTick(page)) + 2_000
  const runs = await until(page, (seen) => {
    const found = runsOf(seen, tick)
    return found.length > 3 ? found : undefined
  })
  expect(Math.max(...runs)).toBe(1)
}

async function untilRun(page: Page, times: number): Promise<void> {
  const tick = await lastTick(page)
  await until(page, (seen) => runsOf(seen, tick).includes(times) || undefined)
}

/** Waits for a run, and does something to its instance while it runs: again with another run, if that was over sooner. */
async function duringARun(page: Page, act: string, undo: string): Promise<Seen> {
  await page.getByRole('combobox', { name: 'takes' }).selectOption('3000')
  const isOver = (seen: readonly Seen[], one: Seen): boolean =>
    seen.some(({ what, by, run }) => what === 'ends' && by === one.by && run === one.run)
  for (let after = 0; ;) {
    const run = await until(page, (seen) =>
      seen.slice(after).find((each) => isBegin(each) && !isOver(seen, each)),
    )
    await press(page, `${act} ${run.by}`)
    const seen = await seenBy(page)
    if (!isOver(seen, run)) return run
    after = seen.length
    await press(page, `${undo} ${run.by}`)
  }
}

const nextRun = (page: Page, run: Seen): Promise<Seen> =>
  until(page, (seen) => seen.find((each) => isBegin(each) && each.at > run.at))

it('without the lock three instances run at each tick, with it one', async () => {
  const page = await open()
  await expectOneRunForEachTick(page)
  await press(page, 'Switch the lock off')
  await page.getByRole('status').getByText(sentences.unlock[1]).waitFor()
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
  const seen = await seenBy(page)
  expect(seen.filter(({ what, at }) => what === 'skips' && at > killed.at && at < next.at)).not.toEqual([])
})

it('an instance that was frozen during its run has lost its lock when it wakes', async () => {
  const page = await open()
  const frozen = await duringARun(page, 'Freeze', 'Wake')
  const timeline = page.getByRole('img', { name: `Timeline of ${frozen.by}, frozen` })
  expect(await timeline.locator('.frozen').count()).toBe(1)
  await page.getByRole('status').getByText('stands still in the middle of its run').waitFor()
  const next = await nextRun(page, frozen)
  expect(next.by).not.toBe(frozen.by)
  await press(page, `Wake ${frozen.by}`)
  const [row, lost] = await until(page, (seen) => {
    const at = seen.findIndex(
      ({ what, by, run }) => what === 'loses its lock' && by === frozen.by && run === frozen.run,
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
  const runs = (await seenBy(page)).filter(({ what, due = 0 }) => what === 'begins' && due > cut)
  expect(runs).toEqual([])
  await press(page, 'Connect the database')
  await until(page, (seen) => seen.find(({ what, due = 0 }) => what === 'begins' && due > cut))
})

/** The figures of each case: as it is, and with its cure. */
const FIGURES = {
  'kill-it-in-the-middle': [
    /^Nobody ran for [\d.]+ s: lockAtMostFor$/,
    /^Nobody ran for [\d.]+ s: lockAtMostFor$/,
  ],
  'two-clocks': [/^[4-9] runs at 3 due times: lockAtLeastFor$/, /^3 runs at 3 due times: lockAtLeastFor$/],
  'a-slot': [/^2 runs at 1 due time: slot$/, /^1 run at 1 due time: slot$/],
} satisfies Record<(typeof CASES)[number]['id'], [RegExp, RegExp]>

it.each(CASES)(
  'the case "$name" plays at its address, and again with its cure',
  async ({ id, name, cure }) => {
    const page = await newPage()
    await page.goto(`${site}/#${id}`)
    const playground = page.locator('.playground')
    await page.locator('nav a[aria-current=true]').getByText(name).waitFor()
    const { y = NaN } = (await playground.boundingBox()) ?? {}
    expect(y).toBeLessThan(200)
    const figure = page.locator('.story strong')
    const [problem, cured] = FIGURES[id]
    expect(await figure.innerText({ timeout: 0 })).toMatch(problem)
    const countsMany = async () => (await page.locator('.counted').innerText()).includes('more than once')
    expect(await countsMany()).toBe(problem.source.includes('due time'))
    await playground.getByRole('button', { name: `Again with ${cure.code}`, exact: true }).click()
    await figure.waitFor({ state: 'detached' })
    expect(await figure.innerText({ timeout: 0 })).toMatch(cured)
    expect(await countsMany()).toBe(false)
    await playground.getByRole('button', { name: `Again without ${cure.code}` }).waitFor()
  },
)

it("on the operators' page, a pause lets all instances skip, until the job is resumed", async () => {
  const page = await open()
  const operators = page.frameLocator('iframe')
  await operators.getByRole('link', { name: /pause send-report/i }).click()
  await operators.getByLabel(/reason/i).fill('a trial')
  await operators.getByRole('button', { name: /pause/i }).click()
  await page.getByRole('status').getByText(sentences.jobPaused[1]).waitFor()
  const paused = await page.evaluate<number>('Date.now()')
  await until(page, (seen) => {
    const skips = seen.filter(({ what, due = 0 }) => what === 'skips' && due > paused)
    return INSTANCES.every((name) => skips.some(({ by }) => by === name)) || undefined
  })
  expect((await seenBy(page)).filter((each) => isBegin(each) && (each.due ?? 0) > paused)).toEqual([])
  await operators.getByText('a trial').waitFor()
  await operators.getByRole('link', { name: /resume send-report/i }).click()
  await operators.getByRole('button', { name: /resume/i }).click()
  await until(page, (seen) => seen.find((each) => isBegin(each) && (each.due ?? 0) > paused))
  await press(page, 'Cut the database off')
  await operators.getByText('TIMEOUT').waitFor()
})

it.each([360, 640, 720, 1_280])(
  "at %d pixels nothing below moves when the operators' page comes",
  async (width) => {
    const page = await open({ viewport: { width, height: 800 } })
    await page.frameLocator('iframe').getByText('send-report').first().waitFor()
    const [free, height] = await page.evaluate<number[]>(`(() => {
      const frame = document.querySelector('.frame')
      return [parseFloat(getComputedStyle(frame).minHeight), frame.getBoundingClientRect().height]
    })()`)
    expect(height).toBe(free)
  },
)

it('the text is there before the playground is loaded, which then needs no network', async () => {
  const page = await open()
  await until(page, (seen) => seen.find(isBegin))
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
  await until(page, (seen) => seen.slice(before).find(isBegin))
  expect(requests.filter((url) => !url.startsWith('blob:'))).toEqual([])
})

it('who wants less motion starts it', async () => {
  const page = await open({ reducedMotion: 'reduce' })
  await press(page, 'Start')
  await until(page, (seen) => seen.find(isBegin))
})

it('without scripts there is the picture', async () => {
  const page = await newPage({ javaScriptEnabled: false })
  await page.goto(site)
  expect(await page.locator('.playground').isVisible()).toBe(false)
  expect(await page.locator('.vp-doc img[src*="/demo"]').isVisible()).toBe(true)
})
