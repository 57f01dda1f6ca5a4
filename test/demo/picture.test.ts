import { expect, test } from '@jest/globals'
import { draw } from '../../demo/draw'
import type { Event } from '../../demo/event-log'
import type { Fire } from '../../demo/fire'

const fire = (process: string, second: number, outcome: Fire['outcome']): Fire => ({
  ...{ process, outcome },
  tick: second * 1000,
})
const event = (id: number, kind: Event['kind'], process: string, second: number): Event => ({
  ...{ id, kind, process },
  ...{ tick: second * 1000, at: second * 1000 + id },
})

const fires = [
  ...[fire('A', 1, 'killed'), fire('B', 1, 'skipped')],
  ...[fire('B', 2, 'skipped'), fire('B', 3, 'ran'), fire('C', 3, 'skipped')],
]
const events = [
  ...[event(1, 'begin', 'A', 1), event(2, 'killed', 'A', 1)],
  ...[event(3, 'begin', 'B', 3), event(4, 'end', 'B', 3)],
]
const count = (picture: string, part: string): number => picture.split(part).length - 1

test('the picture has every fire on the left, and on the right what the database says of them', () => {
  const picture = draw(fires, events)
  expect(count(picture, '<rect class="many"')).toBe(5)
  expect(count(picture, '<rect class="run"')).toBe(2)
  expect(count(picture, '<circle class="skip"')).toBe(3)
  // On both sides.
  expect(count(picture, '<rect class="killed"')).toBe(2)
  expect(picture).toContain('2.0 s after the kill B takes over')
})

test('a run that the database does not know of is drawn as skipped', () => {
  expect(count(draw(fires, events.slice(0, 2)), '<rect class="run"')).toBe(1)
})
