import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { AXIS, timeline, type Case } from './timelines'

const page = readFileSync(join(__dirname, '../../docs/guides/durations.md'), 'utf8')

const CASES: readonly Case[] = [
  {
    title: '1. A run of 3 minutes, lockAtMostFor 10m: one instance runs, the other skips',
    ...{ run: 3, lockAtMostFor: 10 },
  },
  {
    title:
      "2. A run of 1 minute, B's clock is a minute late, no lockAtLeastFor: every tick runs twice (wrong)",
    ...{ run: 1, lockAtMostFor: 10, late: 1 },
  },
  {
    title: '3. The same with lockAtLeastFor 3m: the lock is still there when B comes',
    ...{ run: 1, lockAtMostFor: 10, lockAtLeastFor: 3, late: 1 },
  },
  {
    title: '4. A run of 20 minutes, lockAtMostFor 1h: the tick that comes meanwhile is skipped',
    ...{ run: 20, lockAtMostFor: 60 },
  },
  {
    title: '5. The same with lockAtMostFor 10m: the lock ends under the run, two run at once (wrong)',
    ...{ run: 20, lockAtMostFor: 10 },
  },
  {
    title: '6. lockAtLeastFor 15m, just as long as the interval: every other tick is skipped (wrong)',
    ...{ run: 1, lockAtMostFor: 20, lockAtLeastFor: 15 },
  },
  {
    title: '7. A is killed after 2 minutes, lockAtMostFor 20m: B takes over at the first tick after that',
    ...{ run: 3, lockAtMostFor: 20, killedAfter: 2 },
  },
]

it.each(CASES)('the page shows what happens: $title', async (each) => {
  const drawn = await timeline(each)
  expect(page).toContain(`${drawn}\n`)
})

it('the page has the minutes above the lines', () => {
  expect(page).toContain(`\n${AXIS}\n`)
})
