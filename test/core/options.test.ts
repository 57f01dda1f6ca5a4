import { expect, it } from '@jest/globals'
import {
  aBoolean,
  aFunction,
  anArray,
  anObject,
  aSignal,
  aString,
  type OptionParser,
} from '../../src/core/options'
import { lockError } from '../lock-error'

const { signal } = new AbortController()

it.each<[string, OptionParser<unknown>, readonly unknown[], readonly unknown[]]>([
  ['true or false', aBoolean, [true, false], ['true', 0, null]],
  ['a function', aFunction, [String], [{}, 'String']],
  ['a string', aString, ['', 'text'], [1, null]],
  ['an object', anObject, [{}, []], [null, 'text', String]],
  ['an array', anArray, [[]], [{ length: 0 }, 'text']],
  ["an AbortSignal, such as an AbortController's signal", aSignal, [signal], [null, {}, 'signal']],
])('an option that has to be %s is refused if it is not', (words, check, right, wrong) => {
  for (const value of right) expect(check(value, 'option')).toBe(value)
  for (const value of wrong)
    expect(() => check(value, 'option')).toThrow(
      lockError('INVALID_CONFIGURATION', `option must be ${words}.`),
    )
})
