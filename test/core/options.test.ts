import { expect, it } from '@jest/globals'
import {
  aBoolean,
  aFunction,
  anArray,
  anObject,
  aSignal,
  aString,
  type OptionParser,
} from '../../src/core/internal'
import { lockError } from '../lock-error'

const { signal } = new AbortController()

it.each<[OptionParser<unknown>, string, readonly unknown[], readonly unknown[]]>([
  [aBoolean, 'true or false', [true, false], ['true', 0, null]],
  [aFunction, 'a function', [String], [{}, 'String']],
  [aString, 'a string', ['', 'text'], [1, null]],
  [anObject, 'an object', [{}, []], [null, 'text', String]],
  [anArray, 'an array', [[]], [{ length: 0 }, 'text']],
  [aSignal, "an AbortSignal, such as an AbortController's signal", [signal], [null, {}, 'signal']],
])('%p accepts %s', (check, words, right, wrong) => {
  for (const value of right) expect(check(value, 'option')).toBe(value)
  for (const value of wrong)
    expect(() => check(value, 'option')).toThrow(
      lockError('INVALID_CONFIGURATION', `option must be ${words}.`),
    )
})
