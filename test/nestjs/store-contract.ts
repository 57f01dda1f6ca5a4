import { createRequire } from 'node:module'
import { expect } from '@jest/globals'
import type { ShedLockStore } from '../../src/nestjs'
import { eventually } from '../eventually'

/** One rule of the contract that a lock store keeps. */
export interface ContractCase {
  readonly name: string
  readonly run: () => Promise<void>
}

export interface StoreContract {
  /** Whose cases they are. */
  readonly source: string
  readonly cases: (makeStore: () => ShedLockStore) => readonly ContractCase[]
}

interface LocksTesting {
  lockStoreContract(makeStore: () => unknown, options: { concurrent: { callers: number } }): ContractCase[]
}

/** The suite of `@nestjs/locks` where it is installed, else the rules that its documentation publishes. */
export function storeContract(): StoreContract {
  const locks = installed('@nestjs/locks/testing') as LocksTesting | undefined
  if (!locks) return { source: 'our cases: @nestjs/locks is not installed', cases: publishedRules }
  const options = { concurrent: { callers: 32 } }
  return {
    source: 'lockStoreContract() of @nestjs/locks',
    cases: (makeStore) => [...locks.lockStoreContract(makeStore, options), ...publishedRules(makeStore)],
  }
}

function installed(name: string): unknown {
  try {
    createRequire(__filename).resolve(name)
  } catch {
    return undefined
  }
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- it may not be there
  return require(name)
}

/** Long enough for a busy machine to answer in between. */
const SHORT = 2_000
const MINUTE = 60_000
const WEEKS = 60 * 86_400_000

let keys = 0
const newKey = (): string => `key ${++keys}`

/** Keys that a database, a column of 64 or a digest could take for one another. */
const LONG = 'x'.repeat(499)
const ALIKE = [
  ...['report', 'Report', 'réport', 're\u0301port', ' report', 'report ', 'report\t', 'report\0'],
  ...['', ' ', '日本語', '👩‍👩‍👧', '\ud83d', '\ud83e', '%', "'", '"; --', 'nul\\0', '👍'.repeat(31)],
  ...[`${LONG}a`, `${LONG}b`, `${LONG}A`, 'x'.repeat(64), 'x'.repeat(65), `${'x'.repeat(64)} `],
  ...[`${'👍'.repeat(249)}a`, `${'👍'.repeat(249)}b`, `${'👍'.repeat(15)}a${'👍'.repeat(100)}`],
  ...[`xxx~${'0'.repeat(32)}`, `xxx~${'0'.repeat(31)}`],
]

function publishedRules(makeStore: () => ShedLockStore): ContractCase[] {
  const token = async (key: string, owner: string, ttl = MINUTE): Promise<number> => {
    const result = await makeStore().acquire(key, owner, ttl)
    if (!result.acquired) throw new Error(`${key} is held`)
    return result.fencingToken
  }
  const isHeld = async (key: string): Promise<boolean> => {
    const result = await makeStore().acquire(key, 'who looks', MINUTE)
    if (result.acquired) await makeStore().release(key, 'who looks')
    return !result.acquired
  }
  /** Until a lock of this length that begins now is over on the store's clock. */
  const passes = async (ttl: number): Promise<void> => {
    const key = newKey()
    await token(key, 'clock', ttl)
    await eventually(async () => {
      expect(await isHeld(key)).toBe(false)
    })
  }
  const race = async (key: string, callers: number): Promise<string[]> => {
    const owners = Array.from({ length: callers }, (_, index) => `owner ${index}`)
    const results = await Promise.all(owners.map((owner) => makeStore().acquire(key, owner, MINUTE)))
    return owners.filter((_, index) => results[index]?.acquired)
  }

  return [
    {
      name: 'gives a key to one owner, and not again to the same one',
      run: async () => {
        const key = newKey()
        await token(key, 'one')
        expect(await makeStore().acquire(key, 'two', MINUTE)).toEqual({ acquired: false })
        expect(await makeStore().acquire(key, 'one', MINUTE)).toEqual({ acquired: false })
        expect(await isHeld(newKey())).toBe(false)
      },
    },
    ...[16, 32].map((callers) => ({
      name: `gives a key to one of ${callers} callers: a new, a released and an expired one`,
      run: async () => {
        const key = newKey()
        const [first = '', ...others] = await race(key, callers)
        expect(others).toEqual([])
        await makeStore().release(key, first)
        const [second = '', ...more] = await race(key, callers)
        expect(more).toEqual([])
        await makeStore().release(key, second)
        await token(key, 'short', SHORT)
        await passes(SHORT)
        expect(await race(key, callers)).toHaveLength(1)
      },
    })),
    {
      name: 'frees a key for all when it is released, once',
      run: async () => {
        const key = newKey()
        await token(key, 'one')
        expect(await makeStore().release(key, 'one')).toBe(true)
        expect(await makeStore().release(key, 'one')).toBe(false)
        expect(await makeStore().renew(key, 'one', MINUTE)).toBe(false)
        expect(await isHeld(key)).toBe(false)
      },
    },
    {
      name: 'listens to the owner alone',
      run: async () => {
        const key = newKey()
        await token(key, 'one')
        for (const owner of ['two', 'One', 'one ', '']) {
          expect(await makeStore().renew(key, owner, MINUTE)).toBe(false)
          expect(await makeStore().release(key, owner)).toBe(false)
        }
        expect(await makeStore().renew(newKey(), 'one', MINUTE)).toBe(false)
        expect(await makeStore().release(newKey(), 'one')).toBe(false)
        expect(await isHeld(key)).toBe(true)
        expect(await makeStore().release(key, 'one')).toBe(true)
      },
    },
    {
      name: 'lets a lock expire on the clock of the store, for every method',
      run: async () => {
        const key = newKey()
        await token(key, 'one', SHORT)
        await passes(SHORT)
        expect(await makeStore().renew(key, 'one', MINUTE)).toBe(false)
        expect(await makeStore().release(key, 'one')).toBe(false)
        await token(key, 'two')
        expect(await makeStore().renew(key, 'one', MINUTE)).toBe(false)
        expect(await makeStore().release(key, 'one')).toBe(false)
        expect(await isHeld(key)).toBe(true)
      },
    },
    {
      name: 'moves the expiry to ttl from the renewal, not beyond, and back too',
      run: async () => {
        const [longer, twice, shorter] = [newKey(), newKey(), newKey()]
        await token(longer, 'one', SHORT)
        expect(await makeStore().renew(longer, 'one', MINUTE)).toBe(true)
        await token(twice, 'one', SHORT)
        for (let renewal = 0; renewal < 50; renewal++) await makeStore().renew(twice, 'one', SHORT)
        await token(shorter, 'one', WEEKS)
        expect(await makeStore().renew(shorter, 'one', SHORT)).toBe(true)
        await passes(SHORT)
        expect(await isHeld(longer)).toBe(true)
        await eventually(async () => {
          expect([await isHeld(twice), await isHeld(shorter)]).toEqual([false, false])
        })
        expect(await makeStore().renew(shorter, 'one', MINUTE)).toBe(false)
      },
    },
    {
      name: 'gives a key a greater token each time, after a release and after an expiry, as safe numbers',
      run: async () => {
        const key = newKey()
        const tokens: number[] = []
        for (let time = 0; time < 10; time++) {
          tokens.push(await token(key, `owner ${time}`))
          await makeStore().renew(key, `owner ${time}`, MINUTE)
          await makeStore().release(key, `owner ${time}`)
        }
        tokens.push(await token(key, 'short', SHORT))
        await passes(SHORT)
        tokens.push(await token(key, 'after'))
        expect(tokens.filter((each) => !Number.isSafeInteger(each) || each <= 0)).toEqual([])
        expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b))
      },
    },
    {
      name: 'holds a key for weeks',
      run: async () => {
        const key = newKey()
        await token(key, 'one', WEEKS)
        expect(await makeStore().renew(key, 'one', WEEKS)).toBe(true)
        expect(await isHeld(key)).toBe(true)
        expect(await makeStore().release(key, 'one')).toBe(true)
        expect(await isHeld(key)).toBe(false)
      },
    },
    {
      name: 'keeps keys of up to 500 characters of any Unicode apart',
      run: async () => {
        for (const key of ALIKE) await token(key, 'one')
        const held = []
        for (const key of ALIKE) if (await isHeld(key)) held.push(key)
        expect(held).toEqual(ALIKE)
        for (const key of ALIKE) expect(await makeStore().release(key, 'one')).toBe(true)
      },
    },
  ]
}
