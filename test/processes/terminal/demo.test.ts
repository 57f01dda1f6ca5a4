import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import { afterTest } from '../../after-test'
import { root } from '../../project'
import { openTerminal } from './terminal'

const HEADER = /^ {2}second +A/
const ROW = /^ {2}\d\d:\d\d:\d\d /
const SENTENCES = [
  'Without a lock it would run three times.',
  /kill -9 ends [ABC] in the middle of its run\. Its lock stays until it expires/,
  /The lock has expired, and [ABC] takes over\./,
  'Instance D joins.',
  /✓ \d+ runs in \d+ seconds \(.*\)\. Without the lock it would have been \d+\./,
  /Next, in your app: npm install shedlock-orm.* npx shedlock-orm init .*--help\./,
]

/** A row for each second, and the notes on lines of their own. */
function expectStory(lines: readonly string[]): void {
  const rows = lines.filter((line) => ROW.test(line))
  expect(rows.length).toBeGreaterThanOrEqual(22)
  expect(rows.filter((row) => row.includes('✗ killed'))).toHaveLength(1)
  for (const row of rows) expect(row).not.toMatch(/kill -9|takes over|joins/)
  const text = lines.map((line) => line.trim()).join(' ')
  for (const sentence of SENTENCES) expect(text).toMatch(sentence)
}

it.each([80, 160])('the demo fits into %d columns', async (columns) => {
  const screen = openTerminal([process.execPath, 'demo/start.mjs'], { columns, rows: 50 })
  afterTest(() => screen.close())
  expect(await screen.ended).toBe(0)
  expectStory(screen.lines())
  expect(screen.wrapped()).toEqual([])
  expect(screen.lines().filter((line) => HEADER.test(line))).toHaveLength(1)
})

it('the demo writes no escape sequences into a pipe, and its verdict as JSON', async () => {
  const { FORCE_COLOR, ...env } = process.env
  const demo = promisify(execFile)(process.execPath, ['demo/start.mjs', '--json'], { cwd: root, env })
  const { stdout, stderr } = await demo
  expect(stderr).toBe('')
  expect(stdout).not.toMatch(/[\u001b\r]/)
  const lines = stdout.trimEnd().split('\n')
  expectStory(lines)
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ duplicates: 0, overlaps: 0 })
})
