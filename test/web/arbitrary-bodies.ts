import fc from 'fast-check'

/** A form of the page as any client may send it: the type and the bytes. */
export interface SentBody {
  readonly type: string
  readonly body: string
}

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

/** Names that mean something to JavaScript, to a parser or to the page. */
const field = fc.oneof(
  fc.constantFrom('for', 'reason', 'toString', 'valueOf', '__proto__', 'constructor', 'prototype'),
  fc.constantFrom('hasOwnProperty', 'length', 'then', 'toJSON', '', '0', 'a[toString]', 'a[]', 'a[b][c]'),
  fc.string({ unit: 'grapheme', maxLength: 5 }),
)
const text = fc.oneof(
  fc.constantFrom(
    '1h',
    'migration',
    '',
    '1',
    'null',
    '\u0000',
    '\u200B',
    '%',
    '%00',
    '&=&',
    '[object Object]',
  ),
  fc.string({ unit: 'binary', maxLength: 10 }),
)
const { value: jsonValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    ...[text, fc.constantFrom(null, true, false), fc.integer(), fc.double({ noNaN: true })],
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(field, tie('value'), { maxKeys: 4 }),
  ),
}))

const json = fc
  .oneof(
    jsonValue.map((value) => JSON.stringify(value)),
    fc.constantFrom(
      'null',
      'true',
      '0',
      '""',
      '[]',
      '{}',
      '{',
      'nul',
      '[[',
      '"\\ud800"',
      '{"__proto__":null}',
    ),
    fc.constantFrom('{"a":{"toString":1,"valueOf":1}}', '{"a":{"__proto__":{"toString":null}}}', '1e999'),
  )
  .map((body): SentBody => ({ type: JSON_TYPE, body }))
const form = fc
  .oneof(
    fc.array(fc.tuple(field, text), { maxLength: 5 }).map((pairs) => new URLSearchParams(pairs).toString()),
    fc
      .array(fc.tuple(field, text), { maxLength: 5 })
      .map((pairs) => pairs.map((pair) => pair.join('=')).join('&')),
    fc.constantFrom(
      'a[toString]=1&a[valueOf]=1',
      'a=1&a=2',
      'toString=1',
      '__proto__[x]=1',
      '%',
      '%ff%fe',
      '=',
    ),
    fc.constant('for=1h&reason=migration'),
    fc.constant(`for=1h&reason=${'x'.repeat(9_000)}`),
  )
  .map((body): SentBody => ({ type: FORM, body }))
const other = fc
  .tuple(
    fc.constantFrom(
      'text/plain',
      'application/octet-stream',
      'multipart/form-data; boundary=x',
      FORM,
      JSON_TYPE,
    ),
    fc.oneof(text, fc.constant('for=1h&reason=migration')),
  )
  .map(([type, body]): SentBody => ({ type, body }))

export const sentBody = fc.oneof(json, form, other)

/** An object whose text nobody can make, or whose fields nobody can read. */
function hostileObjects(): fc.Arbitrary<unknown> {
  const thrower = (): never => {
    throw new Error('a trap of the object')
  }
  return fc.constantFrom<unknown>(
    { a: { toString: 1, valueOf: 1 } },
    { a: Object.create(null) as unknown },
    { a: { toString: thrower } },
    { toString: thrower, valueOf: thrower },
    Object.defineProperty({}, 'for', { enumerable: true, get: thrower }),
    new Proxy({}, { ownKeys: thrower, get: thrower, getPrototypeOf: thrower }),
    Object.assign(Object.create(null) as object, { for: Symbol('1h') }),
    { then: (resolve: (value: unknown) => void) => resolve('for=1h') },
    new Map([['for', '1h']]),
    new Date(NaN),
    Symbol('body'),
    12n,
    thrower,
    Buffer.from('for=1h'),
    new Uint16Array([0xffff]),
  )
}

/** What a body parser, good or bad, may leave in `body`. */
export const parsedBody: fc.Arbitrary<unknown> = fc.oneof(
  jsonValue,
  fc.dictionary(field, text, { maxKeys: 4, noNullPrototype: false }),
  fc.object({
    withNullPrototype: true,
    withBigInt: true,
    withDate: true,
    withMap: true,
    withTypedArray: true,
  }),
  hostileObjects(),
)
