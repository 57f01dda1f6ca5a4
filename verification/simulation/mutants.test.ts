import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { mutations } from '../mutations/mutations'
import { BREAKS } from '../workers/breaks'
import { mutants } from './mutants'

/** Mutations are only run now and then, by hand. Without this test, changes of the code that break them would stay unnoticed. */
it.each([...new Set([...mutations, ...mutants, ...Object.values(BREAKS).flat()])])(
  '$file can be broken: $breaks',
  ({ file, find }) => {
    expect(readFileSync(join(__dirname, '../..', file), 'utf8').split(find)).toHaveLength(2)
  },
)
