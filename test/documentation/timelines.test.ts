import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from '@jest/globals'
import { pictures } from '../../scripts/timeline-pictures'
import { CASES, timeline, type Case } from '../../scripts/timelines'
import { read, root } from '../project'

const page = read('docs/schedulers.md')
let drawn: ReadonlyMap<string, string>

beforeAll(async () => {
  drawn = await pictures()
})

it('each picture is as npm run generate draws it, and stands in the page', () => {
  for (const [file, text] of drawn) {
    expect(read(`docs/durations/${file}`)).toBe(text)
    expect(page).toMatch(new RegExp(`!\\[[^\\]]+\\]\\(durations/${file}\\)`))
  }
  expect(readdirSync(join(root, 'docs/durations')).sort()).toEqual([...drawn.keys()].sort())
})

/** What each instance does, a character for a minute. */
async function shown(file: Case['file']): Promise<string[]> {
  const found = CASES.find((each) => each.file === file)
  if (!found) throw new Error(`There is no picture ${file}`)
  const letters = { runs: 'r', outlives: 'o', skips: 's', locked: 'l', killed: 'x', none: '.' }
  return (await timeline(found)).map((minutes) =>
    minutes
      .map((minute) => letters[minute ?? 'none'])
      .join('')
      .slice(0, 32),
  )
}

it.each([
  ['one-runs', 'rrr............s..............rr', 's..............rrr............s.'],
  ['late-clock', 'r..............r..............r.', '.r..............r..............r'],
  ['at-least', 'rll............rll............rl', '.s..............s..............s'],
  ['long-run', 'rrrrrrrrrrrrrrrrrrrr..........rr', 's..............s..............s.'],
  ['expired', 'rrrrrrrrrroooooooooo..........rr', 's..............rrrrrrrrrrooooooo'],
  ['at-least-too-long', 'rlllllllllllllls..............rl', 's..............s..............s.'],
  ['killed', 'rrxlllllllllllllllll............', 's..............s..............rr'],
])('the page shows what happens: %s', async (file, a, b) => {
  expect(await shown(file)).toEqual([a, b])
})
