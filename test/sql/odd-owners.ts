import fc from 'fast-check'

const DIGITS = '9'.repeat(40)
/** What looks like an owner of ours, or nearly so, and what looks like nothing. */
export const ODD_OWNERS: readonly string[] = [
  ...['', ' ', '/', '+', 'java-host', 'h/1/5 failed', 'h/1/5+7 succeeded', 'h/1/unlocked', '/unlocked'],
  ...['h/1/5+9999999999999999 failed', 'h/1/9999999999999999 failed', 'h/1/9999999999999 failed'],
  ...[`h/1/${DIGITS} failed`, `h/1/5+${DIGITS} unlocked`, `h/1/${DIGITS}+${DIGITS} succeeded`],
  ...['h/1/-5 failed', 'h/1/5e9 failed', 'h/1/0x5 failed', 'h/1/5+ failed', 'h/1/٥ failed'],
  ...['paused by ', 'paused by ann: r', 'paused by ann: r/5 failed', 'paused by ann: r/unlocked'],
  ...['paused by ann: r/0b4f6b0e-7a39-8d0e-9a51-1d8a6b9d7c11'],
  ...['h/1/0b4f6b0e-7a39-8d0e-9a51-1d8a6b9d7c11', 'h/1/0b4f6b0e-7a39-4d0e-9a51-1d8a6b9d7c11'],
  ...['ESC\u001b[31m', 'a\r\nb', '\u200b', '\ufeff', '\u202eexe', '\u{e0041}', '\u2028', '<b>&"\'</b>'],
]

const part = fc.oneof(
  fc.constantFrom(...ODD_OWNERS, '/5', ' failed', '+', '/', 'paused by '),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.bigInt({ min: -1n, max: 10n ** 30n }).map(String),
)

/** Any text that a database can have as an owner. */
export const anyOwner = fc
  .array(part, { maxLength: 5 })
  .map((parts) => parts.join('').replaceAll('\u0000', ''))
  .map((owner) => Array.from(owner).slice(0, 120).join(''))
