import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { pictures } from '../../scripts/timeline-pictures'
import { read, root } from '../project'

const page = read('docs/schedulers.md')

it('each picture is as npm run generate draws it, and stands in the page', async () => {
  const drawn = await pictures()
  for (const [file, text] of drawn) {
    expect(read(`docs/durations/${file}`)).toBe(text)
    expect(page).toMatch(new RegExp(`!\\[[^\\]]+\\]\\(durations/${file}\\)`))
  }
  expect(readdirSync(join(root, 'docs/durations')).sort()).toEqual([...drawn.keys()].sort())
})
