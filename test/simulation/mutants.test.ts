import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { mutations } from '../../scripts/mutations'
import { mutants } from './mutants'

/** They are broken only now and then, by hand: nobody would notice that the code has changed below them. */
it.each([...mutations, ...mutants.filter(({ what }) => !what.startsWith('rule '))])(
  '$file can be broken: $breaks',
  ({ file, find }) => {
    expect(readFileSync(join(__dirname, '../..', file), 'utf8')).toContain(find)
  },
)
