import { expect, it } from '@jest/globals'
import { PAGE, pageWithFailures } from '../../scripts/failures-table'
import { read } from '../project'

it(`${PAGE} shows the table of failures as the code has it: npm run generate`, () => {
  expect(pageWithFailures()).toBe(read(PAGE))
})
