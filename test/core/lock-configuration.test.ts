import { describe, expect, it } from '@jest/globals'
import { parseLockConfiguration, parseTaskConfiguration } from '../../src/core/configuration'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { leaderElection } from '../../src/core/leader-election'
import type { LockConfiguration } from '../../src/core/lock'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { lockError } from '../lock-error'

const valid: LockConfiguration = { name: 'job', lockAtMostFor: '10m' }

const refusal = (message: RegExp) => lockError('INVALID_CONFIGURATION', message)

describe('a lock configuration', () => {
  it('is checked, with durations in milliseconds, also if it inherits its options', () => {
    const options = { ...valid, lockAtLeastFor: 'PT1M', wait: '1s', keepAlive: {} }
    const { configuration, ...how } = parseLockConfiguration(Object.create(options) as LockConfiguration)
    expect(configuration).toStrictEqual({ name: 'job', lockAtMostFor: 600_000, lockAtLeastFor: 60_000 })
    expect(how).toEqual({ wait: { atMost: 1_000, interval: 500 }, keepAlive: {} })
    expect(parseLockConfiguration({ ...valid, wait: { atMost: 1 }, keepAlive: false })).toMatchObject({
      wait: { atMost: 1, interval: 500 },
      keepAlive: false,
    })
    const misspelt = Object.create({ ...valid, lockAtMost: 1 }) as LockConfiguration
    expect(() => parseLockConfiguration(misspelt)).toThrow("Unknown option 'lockAtMost'")
  })

  it('with untilSucceeded has the second of its slot, because the milliseconds count the retries', () => {
    const { slot, untilSucceeded } = parseLockConfiguration({
      ...valid,
      slot: 1_700_000_000_123,
      untilSucceeded: true,
    }).configuration
    expect([slot, untilSucceeded]).toEqual([1_700_000_000_000, true])
  })

  it.each<[string, Partial<LockConfiguration>]>([
    ['a lease of two milliseconds', { lockAtMostFor: 2 }],
    ['a lockAtLeastFor of 0', { lockAtLeastFor: 0 }],
    ['a lockAtLeastFor as long as lockAtMostFor', { lockAtLeastFor: '10m' }],
    ['a name of 64 characters', { name: 'x'.repeat(64) }],
    ['a name with blanks and signs inside', { name: "Bob's nightly #1 (über) 漢字 🔒" }],
    ['a name with braces, a dollar and a hash', { name: 'job {1} $2 #3 }{' }],
    ['a name with an emoji of several characters', { name: 'tidy \u{1f5d1}\ufe0f' }],
  ])('may have %s', (_, rest) => {
    expect(() => parseLockConfiguration({ ...valid, ...rest })).not.toThrow()
  })

  it.each<[string, unknown, RegExp]>([
    ['none', undefined, /has no name/],
    ['an empty one', '', /has no name/],
    ['65 characters', 'x'.repeat(65), /has 65 characters, .* holds only 64/],
    ['33 emojis, which are two characters each', '🔒'.repeat(33), /has 66 characters/],
    ['a line break', 'a\nb', /control characters/],
    ['half a surrogate pair', '\ud83d', /control characters or lone surrogates/],
    ['a zero width space', 're\u200bport', /"re\\u200bport" contains invisible characters/],
    ['a soft hyphen', 're\u00adport', /"re\\u00adport" contains invisible characters/],
    ['a tag of an emoji', 'a\u{e0067}', /"a\\udb40\\udc67" contains invisible characters/],
    ['a separator of lines', 'a\u2028b', /invisible characters/],
    ['a template', '${tenant}-a', /'\${tenant}', which nothing .* name: \(tenant\) => `report-\${tenant}`/],
    ['a placeholder of Spring', 'a #{#tenant.id}', /contains '#{#tenant.id}', which/],
    ['a placeholder without a name', 'job ${}', /contains '\${}', which/],
    ['a blank at the end', 'job ', /begins or ends with a blank/],
    ['a blank at the beginning', ' job', /begins or ends with a blank/],
    ['a no-break space at the end', 'job\u00a0', /begins or ends with a blank/],
  ])('is refused if its name is or contains %s', (_, name, message) => {
    expect(() => parseLockConfiguration({ ...valid, name } as LockConfiguration)).toThrow(refusal(message))
  })

  it.each<[object, RegExp]>([
    [{ lockAtMostFor: undefined }, /^Lock 'job' has no lockAtMostFor – .* defaultLockAtMostFor/],
    [{ lockAtMostFor: '-1s' }, /^lockAtMostFor of lock 'job' is negative \(-1s\)/],
    [{ lockAtMostFor: 0 }, /expire at once/],
    [{ lockAtMostFor: 1 }, /^lockAtMostFor of lock 'job' is shorter than two milliseconds/],
    [{ lockAtLeastFor: -1 }, /^lockAtLeastFor of lock 'job' is negative/],
    [{ lockAtLeastFor: '11m' }, /lockAtLeastFor .*'job' \(660000 ms\) is longer than .* \(600000 ms\)/],
    [{ untilSucceeded: true }, /^untilSucceeded of lock 'job' needs a slot/],
    [{ keepAlive: '2h' }, /^keepAlive of lock 'job' must be true, false, or an/],
    [{ keepAlive: null }, /^keepAlive of lock 'job' must be true, false, or an/],
    [{ keepAlive: { atMost: 0 } }, /^keepAlive\.atMost of lock 'job' must be a millisecond or more/],
    [{ wait: 'soon' }, /^wait of lock 'job' is 'soon', which is not a duration/],
    [{ wait: { atMost: 'soon' } }, /^wait\.atMost of lock 'job' is 'soon'/],
    [{ wait: { atMost: '1m', interval: 0 } }, /^wait\.interval of lock 'job' must be a millisecond/],
    [{ wait: { interval: '1s' } }, /^wait\.atMost of lock 'job' must be a duration such as '1m'\.$/],
    [{ wait: { atMost: 1, retries: 3 } }, /^Unknown option 'retries' in the wait of lock 'job'/],
    [{ lockAtMost: 1, waits: 1 }, /^Unknown option 'lockAtMost', 'waits' in the lock configuration/],
  ])('is refused with %o', (rest, message) => {
    expect(() => parseLockConfiguration({ ...valid, ...rest })).toThrow(refusal(message))
  })

  it.each([null, undefined, 'job', 7])('is refused when it is %o', (configuration) => {
    expect(() => parseLockConfiguration(configuration as never)).toThrow(lockError('INVALID_CONFIGURATION'))
  })

  it.each([0, 1, '1ms', 'PT0.0019S'])('has no lease of %s by default, call or extension', async (lease) => {
    const provider = new InMemoryLockProvider()
    const words = lockError('INVALID_CONFIGURATION', /ockAtMostFor.* is shorter than two milliseconds/)
    expect(() => new LockingTaskExecutor(provider, { defaultLockAtMostFor: lease })).toThrow(words)
    const executor = new LockingTaskExecutor(provider)
    expect(() => executor.wrap({ name: 'job', lockAtMostFor: lease }, () => 1)).toThrow(words)
    const election = { name: 'job', lockAtMostFor: lease }
    expect(() => leaderElection(provider, election, { onElected: () => undefined })).toThrow(words)
    const lock = await provider.lock(valid)
    await expect(lock?.extend(lease)).rejects.toEqual(words)
  })

  it('is refused with the name of its lock and of the option, if they are known', () => {
    const refused = (rest: object): unknown => {
      try {
        return parseLockConfiguration({ ...valid, ...rest })
      } catch (error) {
        return error
      }
    }
    expect(refused({ lockAtMostFor: 0 })).toMatchObject({ lockName: 'job', option: 'lockAtMostFor' })
    expect(refused({ lockAtLeastFor: '11m' })).toMatchObject({ lockName: 'job', option: 'lockAtLeastFor' })
    expect(refused({ name: 7 })).toMatchObject({ lockName: undefined })
    expect(refused({ name: 7, lockAtMost: '1m' })).toMatchObject({ lockName: undefined })
  })

  it.each([
    [{ onSkip: 'ignore' }, /onSkip of lock 'job' must be 'throw' or a function/],
    [{ lockAtMost: '1m' }, /Unknown option 'lockAtMost' in the lock configuration – .*, onSkip/],
  ])('of a task is refused with %j', (rest, message) => {
    const configuration = { ...valid, ...rest } as LockConfiguration
    expect(() => parseTaskConfiguration(configuration, { lockAtLeastFor: 0 })).toThrow(refusal(message))
  })
})
