import { expect, test } from '@jest/globals'
import { checkLockName } from '../../src/core'
import { lockNameOf } from '../../src/nestjs/lock-name'

test('a key that is a lock name stays as it is', () => {
  for (const key of ['inventory:stock:owner', 'x'.repeat(64), 'Rechnungen über Nacht', '~abc'])
    expect(lockNameOf(key)).toBe(key)
})

test('any other key becomes a name that begins as it does', () => {
  expect(lockNameOf(`invoices:${'x'.repeat(60)}`)).toMatch(/^invoices:x{22}~[0-9a-f]{32}$/)
  for (const key of ['', ' ', '\0', '\ud83d', ' a', `${'x'.repeat(30)}👍${'x'.repeat(40)}`, '👍'.repeat(250)])
    expect(checkLockName(lockNameOf(key))).toBe(lockNameOf(key))
})

test('the name of another key is no name of its own', () => {
  const name = lockNameOf('x'.repeat(65))
  expect(lockNameOf(name)).not.toBe(name)
})
