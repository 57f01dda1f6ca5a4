import { describe, expect, it } from '@jest/globals'
import { InMemoryLockProvider, LockingTaskExecutor } from '../../src/core/internal'

const wrong: readonly (readonly [string, unknown])[] = [
  ['one listener, not in an array', {}],
  ['a function', () => undefined],
  ['a text', 'listener'],
  ['a set', new Set()],
  ['an array with nothing in it', [undefined]],
  ['an array with a function', [() => undefined]],
  ['an array with a text', ['listener']],
  ['an array with null', [null]],
]

describe('invalid listeners', () => {
  it.each(wrong)('are refused at start-up: %s', (_, listeners) => {
    expect(() => new LockingTaskExecutor(new InMemoryLockProvider(), { listeners } as object)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIGURATION' }),
    )
  })
})
