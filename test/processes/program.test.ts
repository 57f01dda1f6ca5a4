import { expect, it } from '@jest/globals'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { program } from './program'

it('a program that is bundled again is a new file, since a process may be loading the old one', () => {
  const bundled = (): number => statSync(program(join(__dirname, 'fake-time.ts'))).ino
  expect(bundled()).not.toBe(bundled())
})
