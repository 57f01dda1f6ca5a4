import { describe, expect, it } from '@jest/globals'
import { InMemoryLockProvider, KeepAliveLockProvider, LockingTaskExecutor } from '../../src/core'

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

describe('listeners that are none', () => {
  it.each(wrong)(
    'are refused at start-up, by the executor and the keep-alive provider: %s',
    (_, listeners) => {
      for (const Listening of [LockingTaskExecutor, KeepAliveLockProvider])
        expect(() => new Listening(new InMemoryLockProvider(), { listeners } as object)).toThrow(
          expect.objectContaining({ code: 'INVALID_CONFIGURATION' }),
        )
    },
  )
})

describe('shutdown', () => {
  it('refuses an option that it does not know', async () => {
    const executor = new LockingTaskExecutor(new InMemoryLockProvider())
    await expect(executor.shutdown({ timout: 1 } as object)).rejects.toMatchObject({
      code: 'INVALID_CONFIGURATION',
    })
  })
})
