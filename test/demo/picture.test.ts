import { expect, it } from '@jest/globals'
import { read } from '../project'

it.each(['demo.svg', 'demo-phone.svg'])('the README shows %s in its own size', (file) => {
  const [, width, height] = /<svg [^>]* width="(\d+)" height="(\d+)"/.exec(read(`docs/${file}`)) ?? []
  expect(read('README.md')).toMatch(
    new RegExp(`="./docs/${file}"( alt="[^"]*")? width="${width}" height="${height}"`),
  )
})
