import fc from 'fast-check'
import { describe, expect, it } from '@jest/globals'
import { errorName, printable } from '../../src/core/errors'

class PaymentError extends Error {}
const named = new PaymentError('x')
named.name = 'Declined'

it.each([
  [new PaymentError('secret'), 'PaymentError'],
  [named, 'Declined'],
  [Object.assign(new Error('secret'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
  [{ code: 'ECONNREFUSED' }, 'ECONNREFUSED'],
  [Object.assign(new Error(), { code: 'hunter2 is wrong' }), 'Error'],
  [Object.assign(new TypeError(), { code: 5 }), 'TypeError'],
  ['text', '_OTHER'],
  [undefined, '_OTHER'],
])('%p has its code for a name, or its class: %s', (error, name) => {
  expect(errorName(error)).toBe(name)
})

describe('a text of another program', () => {
  it.each([
    ['a\u200bb', 'a\\u200bb'],
    ['tag \u{e0041}', 'tag \\udb40\\udc41'],
    ['\u001b[31m\n\u0085\u2028', '\\u001b[31m\\u000a\\u0085\\u2028'],
    ['größe 名前 😀', 'größe 名前 😀'],
  ])('is shown with what is invisible as its code: %j', (text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  it('contains nothing invisible or controlling when it is shown, and is the same string as JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
        expect(JSON.parse(printable(JSON.stringify(text)))).toBe(text)
      }),
      { numRuns: 1_000, examples: [['\u{e0041}\u200b\ud800']] },
    )
  })
})
