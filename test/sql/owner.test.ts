import crypto from 'node:crypto'
import type fs from 'node:fs'
import os from 'node:os'
import workerThreads from 'node:worker_threads'
import fc from 'fast-check'
import { describe, expect, it, jest } from '@jest/globals'
import {
  parseLockedBy,
  defaultLockedBy,
  describeFailure,
  endedOwner,
  lastRunOf,
  newOwner,
  processOf,
  readableOwner,
} from '../../src/sql/owner'
import type * as owners from '../../src/sql/owner'
import { lockRecords } from '../../src/sql/records'

const NOW = new Date('2026-11-22T12:00:00.000Z')
const outcomes = ['succeeded', 'failed', 'unlocked'] as const
const ours = fc.constantFrom(
  ...[newOwner('x'), endedOwner(newOwner('x')), 'x/5 succeeded', 'x/5+7 failed', '/unlocked', ' succeeded'],
  ...['/5 ', '/5+', '5 succeeded', 'paused by'],
)
/** Texts that look like owners, and parts of them. */
const lockedBy = fc
  .array(fc.oneof(ours, fc.string({ unit: 'grapheme', maxLength: 5 })), { maxLength: 6 })
  .map((parts) => parts.join('').slice(0, 218))
  .filter((text) => {
    try {
      return parseLockedBy(text) === text
    } catch {
      return false
    }
  })
const run = fc.record({
  outcome: fc.constantFrom(...outcomes),
  ranFor: fc.oneof(fc.integer({ min: 0, max: 9e12 }), fc.double({ min: 0, max: 1e6, noNaN: true })),
  keepFor: fc.nat(),
  heldFor: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 36_500 * 86_400_000 + 1 })),
})

describe('an owner, whatever lockedBy is,', () => {
  it('is another one for each acquisition, even if randomUUID is a constant', () => {
    const random = jest.spyOn(crypto, 'randomUUID').mockReturnValue('00000000-0000-4000-8000-000000000000')
    const owners = Array.from({ length: 1_000 }, () => newOwner('x'))
    random.mockRestore()
    expect(new Set(owners).size).toBe(1_000)
    for (const owner of owners) expect(readableOwner(owner)).toBe('x')
  })

  it('contains the recorded outcome, and who it was, in 255 characters', () => {
    fc.assert(
      fc.property(lockedBy, run, (who, ended) => {
        const owner = endedOwner(newOwner(who), ended)
        expect(owner.length).toBeLessThanOrEqual(255)
        expect(readableOwner(owner)).toBe(who)
        const { outcome, duration = NaN, endedAt, startedAt } = lastRunOf(owner, false, NOW, NOW) ?? {}
        expect(outcome).toBe(ended.outcome)
        expect(duration).toBe(Math.min(Math.round(ended.ranFor), 999_999_999_999))
        expect(endedAt?.getTime()).toBe(NOW.getTime() - Math.round(ended.heldFor))
        expect(startedAt?.getTime()).toBe(Number(endedAt) - duration)
      }),
    )
  })

  it('contains what a failed run threw, cut to the column, where an earlier version takes it for a part of the owner', () => {
    // As it was before rows had errors.
    const EARLIER = /\/(?:(\d{1,12})(?:\+(\d{1,13}))? )?(succeeded|failed|unlocked)$/
    fc.assert(
      fc.property(lockedBy, run, fc.string({ unit: 'grapheme', maxLength: 300 }), (who, ended, error) => {
        const owner = endedOwner(newOwner(who), { ...ended, error })
        expect(owner.length).toBeLessThanOrEqual(255)
        const { error: read, ...rest } = lastRunOf(owner, false, NOW, NOW) ?? {}
        const shown = error.replace(/[^ -~]+/g, '?').trim()
        expect(shown.startsWith(read ?? '')).toBe(true)
        if (who.length < 20) expect(read?.length ?? 0).toBeGreaterThanOrEqual(Math.min(shown.length, 150))
        expect(rest).toEqual(lastRunOf(endedOwner(newOwner(who), ended), false, NOW, NOW))
        expect(readableOwner(owner)).toBe(who)
        expect(EARLIER.exec(owner)?.[3]).toBe(ended.outcome)
      }),
    )
  })

  it('contains the code or the class of an error, and its message only if the app wants it', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:25\nat smtp'), {
      code: 'ECONNREFUSED',
    })
    expect(describeFailure(refused, false)).toBe('ECONNREFUSED')
    expect(describeFailure(refused, true)).toBe('ECONNREFUSED: connect ECONNREFUSED 10.0.0.1:25')
    expect(describeFailure(new Error('\n  refused\nat smtp'), true)).toBe('Error: refused')
    expect(describeFailure('text', true)).toBe('_OTHER')
    const named = ['password', 'dbPwd', 'access_token', 'clientSecret', 'API_KEY'].map(
      (name) => `${name}=hunter2`,
    )
    for (const secret of ['postgres://app:hunter2@db/app', ...named])
      expect(describeFailure(new Error(`refused: ${secret} ${secret}`), true)).not.toContain('hunter2')
    for (const database of [{ query: 'select 1' }, { sql: 'select 1' }, { clientVersion: '7' }])
      expect(describeFailure(Object.assign(new Error("value 'secret'"), database), true)).toBe('Error')
    expect(describeFailure(new Error('x'.repeat(500)), true)).toBe(`Error: ${'x'.repeat(100)}`)
  })

  it('contains no outcome during a run, and means that the run died once the lease is over', () => {
    fc.assert(
      fc.property(lockedBy, (who) => {
        const owner = newOwner(who)
        expect(owner.length).toBeLessThanOrEqual(255)
        expect(readableOwner(owner)).toBe(who)
        expect(lastRunOf(owner, true, NOW, NOW)).toBeUndefined()
        expect(lastRunOf(owner, false, NOW, NOW)).toEqual({ outcome: 'died', endedAt: NOW })
        expect(lastRunOf(endedOwner(owner), false, NOW, NOW)).toStrictEqual({
          outcome: 'unlocked',
          endedAt: NOW,
        })
      }),
    )
  })
})

describe('a process', () => {
  const GONE = 2_147_483_646
  const ofProcess = (pid: number, lockedBy = defaultLockedBy()): string =>
    newOwner(lockedBy).replace(`/${process.pid}/`, `/${pid}/`)

  /** Loads the module as it would be on a machine of the same host name. */
  function onMachine(bootId: string, namespace: string): typeof owners {
    const read: Partial<typeof fs> = {
      readFileSync: (() => `${bootId}\n`) as unknown as typeof fs.readFileSync,
      readlinkSync: (() => `pid:[${namespace}]`) as unknown as typeof fs.readlinkSync,
    }
    jest.spyOn(process, 'getBuiltinModule').mockReturnValue(read)
    let loaded: typeof owners | undefined
    jest.isolateModules(() => {
      loaded = jest.requireActual('../../src/sql/owner')
    })
    if (!loaded) throw new Error('not loaded')
    return loaded
  }

  it('is gone only if it was one of this machine, since its last start, and of this PID namespace', () => {
    const boots = ['06de38b5-728e-4c7c-8e17-413547ff0354', '7a1c02e4-0b0e-4a51-9d8f-0d0f3c1b9a55']
    const here = onMachine(boots[0] ?? '', '4026531836')
    const owner = here.newOwner(here.defaultLockedBy()).replace(`/${process.pid}/`, `/${GONE}/`)
    expect(here.processOf(owner)).toBe('gone')
    expect(here.processOf(owner.replace(os.hostname(), 'elsewhere'))).toBe('unknown')
    expect(onMachine(boots[0] ?? '', '4026531836').processOf(owner)).toBe('gone')
    expect(onMachine(boots[0] ?? '', '4026532601').processOf(owner)).toBe('unknown')
    expect(onMachine(boots[1] ?? '', '4026531836').processOf(owner)).toBe('unknown')
    jest.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('that of another user'), { code: 'EPERM' })
    })
    expect(here.processOf(owner)).toBe('running')
  })

  it('is unknown where machines cannot be distinguished', () => {
    const elsewhere = onMachine('', '')
    const owner = elsewhere.newOwner(elsewhere.defaultLockedBy())
    expect(elsewhere.processOf(owner)).toBe('unknown')
  })

  it('is that of the default lockedBy, and not a number that an app chose', () => {
    const host = os.hostname()
    expect([process.pid, GONE].map((pid) => processOf(ofProcess(pid)))).toEqual(['running', 'gone'])
    expect(processOf(newOwner(`${host}/${GONE}`))).toBe('unknown')
    expect(processOf(newOwner(`${host}/${GONE}/3`))).toBe('unknown')
    expect(processOf(newOwner('other-host/7'))).toBe('unknown')
  })
})

it('lockedBy names the host, the process and the thread by default, and keeps the end of a long name', () => {
  const { hostname } = os
  expect(defaultLockedBy()).toBe(`${hostname()}/${process.pid}`)
  jest.replaceProperty(workerThreads, 'isMainThread', false)
  expect(defaultLockedBy()).toBe(`${hostname()}/${process.pid}/${workerThreads.threadId}`)
  jest.spyOn(os, 'hostname').mockReturnValue('h'.repeat(300))
  expect(defaultLockedBy()).toMatch(new RegExp(`^h{200,}/${process.pid}/${workerThreads.threadId}$`))
  expect(parseLockedBy(defaultLockedBy())).toHaveLength(218)
})

it('an owner becomes host/1/36 failed after a run whose row is free at its end', () => {
  const run = { outcome: 'failed', keepFor: 0, ranFor: 36, heldFor: 0 } as const
  expect(endedOwner(newOwner('host/1'), run)).toBe('host/1/36 failed')
})

it.each([
  ['a Java service', 'app-7d4b9c'],
  ['a Java service that ends its owner in a UUID', 'app/0b4f6b0e-7a39-4d0e-9a51-1d8a6b9d7c11'],
  ['a pause that was resumed', endedOwner(newOwner('paused by ann: look'))],
  ['a pause that is over', newOwner('paused by ann: look')],
  // A run of ours has fewer digits.
  ...['5+9999999999999999 failed', '9999999999999 failed', '5+99999999999999 unlocked'].map((run) => [
    ...['another program, which looks like ours', `h/1/${run}`],
  ]),
])('no last run is read from the owner of %s', (_, owner = '') => {
  expect(lastRunOf(owner, false, NOW, NOW)).toBeUndefined()
  if (owner.startsWith('h/')) expect(readableOwner(owner)).toBe(owner)
})

it('a last run has no times in the future, because then the row was changed by hand', () => {
  const later = new Date(NOW.getTime() + 1)
  expect(lastRunOf('x/5 failed', true, later, NOW)).toEqual({ outcome: 'failed', duration: 5 })
})

it('a lease is over if the clock was read just before its end, and then just after', () => {
  const row = {
    lock_name: 'job',
    owner: 'host/1/36+64 failed',
    is_held: 0,
    locked_at: 0,
    lock_until: 1_000,
    now: 999,
  }
  const [record] = lockRecords([row])
  expect(record?.now).toEqual(record?.lockUntil)
  expect(record?.lastRun).toMatchObject({ outcome: 'failed', endedAt: new Date(936), duration: 36 })
  const [late] = lockRecords([{ ...row, owner: 'host/1/36 failed' }])
  expect(late?.lastRun?.endedAt).toEqual(record?.lockUntil)
})
