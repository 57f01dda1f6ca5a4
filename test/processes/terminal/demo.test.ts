import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import { afterTest } from '../../after-test'
import { eventually } from '../../eventually'
import { root } from '../../project'
import { openTerminal, type Screen } from './terminal'

const HEADER = /^ {2}second +A/
const ROW = /^ {2}\d\d:\d\d:\d\d /

function start(columns: number): Screen {
  const screen = openTerminal([process.execPath, 'demo/start.mjs'], { columns, rows: 50 })
  afterTest(() => screen.close())
  return screen
}

const rowsOf = (lines: readonly string[]): string[] => lines.filter((line) => ROW.test(line))

/** What a row says of D, the last of four instances: what is between the third cell and the totals. */
const fourth = (row: string): string =>
  [
    ...row
      .replace(/\d+ runs? instead of.*/, '')
      .matchAll(/[■·!✗] ?(ran|skipped|too late|error|killed|dead)/g),
  ][3]?.[0] ?? ''

/** Each second once and in order, under one header; the notes on lines of their own. */
function expectStory(lines: readonly string[]): void {
  const rows = rowsOf(lines)
  expect(rows.length).toBeGreaterThanOrEqual(22)
  const seconds = rows.map((row) => Date.parse(`2000-01-01T${row.trim().slice(0, 8)}Z`) / 1000)
  const midnight = 86_400
  for (const [index, second] of seconds.entries())
    expect((second - (seconds[0] ?? 0) + midnight) % midnight).toBe(index)
  expect(rows.filter((row) => row.includes('✗ killed'))).toHaveLength(1)
  const text = lines.map((line) => line.trim()).join(' ')
  for (const sentence of [
    'Without a lock it would run three times.',
    /kill -9 ends [ABC] in the middle of its run\. Its lock stays until it expires/,
    /The lock has expired, and [ABC] takes over\./,
    'Instance D joins.',
    /✓ \d+ runs in \d+ seconds \(.*\)\. Without the lock it would have been \d+\./,
  ])
    expect(text).toMatch(sentence)
  for (const row of rows) expect(row).not.toMatch(/kill -9|takes over|joins/)
  const joins = lines.findIndex((line) => line.includes('Instance D joins.'))
  const firstOfD = lines.findIndex((line) => ROW.test(line) && fourth(line) !== '')
  expect(joins).toBeLessThan(firstOfD)
  // The last sentences: what to do next.
  expect(text).toMatch(/Next, in your app: npm install shedlock-orm.* npx shedlock-orm init .*--help\./)
}

it('the demo fits into 80, 100 and 160 columns', async () => {
  const screens = [80, 100, 160].map((columns) => ({ columns, screen: start(columns) }))
  for (const { columns, screen } of screens) {
    expect(await screen.ended).toBe(0)
    const lines = screen.lines()
    expectStory(lines)
    expect(screen.wrapped()).toEqual([])
    expect(lines.filter((line) => HEADER.test(line))).toHaveLength(1)
    for (const row of rowsOf(lines)) expect(row).toMatch(/\d+ runs? instead of \d+$/)
    // The instances' process ids need more room.
    expect(lines.join().includes('A (pid ')).toBe(columns > 80)
  }
})

it('the demo adapts to a terminal that is resized, and writes no escape sequences into a pipe', async () => {
  const { FORCE_COLOR, ...env } = process.env
  const piped = promisify(execFile)(process.execPath, ['demo/start.mjs', '--json'], { cwd: root, env })

  const screen = start(160)
  const rows = () => rowsOf(screen.lines())
  await eventually(() => expect(rows().length).toBeGreaterThan(2), { timeout: 120_000 })
  await screen.resize({ columns: 100 })
  expect(screen.wrapped()).toEqual([])
  await screen.resize({ columns: 60 })
  expect(await screen.ended).toBe(0)
  // The terminal itself has wrapped what was printed before.
  const later = rows().slice(-15)
  for (const row of later) expect(row).toMatch(/^.{12}.*(ran|skipped|killed|dead)$/)
  expect(screen.wrapped().filter((line) => /ran|skipped/.test(line))).toEqual([])
  expect(screen.lines().filter((line) => HEADER.test(line))).toHaveLength(2)

  const { stdout, stderr } = await piped
  expect(stderr).toBe('')
  expect(stdout).not.toMatch(/[\u001b\r]/)
  const lines = stdout.trimEnd().split('\n')
  expectStory(lines)
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ duplicates: 0, overlaps: 0 })
})
