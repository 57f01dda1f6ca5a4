import { expect, test } from '@jest/globals'
import type { Event } from '../../demo/event-log'
import { judge } from '../../demo/verdict'

let id = 0
const event = (kind: Event['kind'], process: string, tick: number, at: number): Event => ({
  ...{ id: ++id, kind, process },
  ...{ tick: tick * 1000, at },
})

test('runs that follow each other are neither duplicates nor overlaps', () => {
  const verdict = judge([
    ...[event('begin', 'A', 1, 1000), event('end', 'A', 1, 1300)],
    ...[event('begin', 'B', 2, 2000), event('end', 'B', 2, 2300)],
  ])
  expect(verdict).toMatchObject({ ticks: 2, runs: 2, duplicates: 0, overlaps: 0, longestGapMs: 1000 })
})

test('a tick that is run again is a duplicate, though the first run was over', () => {
  const verdict = judge([
    ...[event('begin', 'A', 1, 1000), event('end', 'A', 1, 1300)],
    ...[event('begin', 'B', 1, 1400), event('end', 'B', 1, 1700)],
  ])
  expect(verdict).toMatchObject({ runs: 2, duplicates: 1, overlaps: 0 })
})

test('a run that begins while another one goes on is an overlap, though of another tick', () => {
  const verdict = judge([
    ...[event('begin', 'A', 1, 1000), event('begin', 'B', 2, 1999)],
    ...[event('end', 'A', 1, 2001), event('end', 'B', 2, 2300)],
  ])
  expect(verdict).toMatchObject({ duplicates: 0, overlaps: 1 })
})

test('a killed run is over with the kill, and the next run takes over', () => {
  const killed = [event('begin', 'A', 1, 1000), event('killed', 'A', 1, 1150)]
  expect(judge(killed)).toMatchObject({ runs: 1, takeoverMs: null })
  const verdict = judge([...killed, event('begin', 'B', 4, 4000), event('end', 'B', 4, 4300)])
  expect(verdict).toMatchObject({ ticks: 4, runs: 2, overlaps: 0, longestGapMs: 3000, takeoverMs: 2850 })
})
