import { expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/dialects'
import { DATABASE_TYPES } from '../../src/typeorm/data-source-like'
import { read } from '../project'

it.each(['typeorm', 'typeorm-0.3'])('every type of a DataSource in %s is known', (version) => {
  const declaration = read(`node_modules/${version}/driver/types/DatabaseType.d.ts`)
  const types = [...declaration.matchAll(/"([\w-]+)"/g)].map(([, type = '']) => type)
  expect(types.length).toBeGreaterThan(15)
  expect(types.filter((type) => !Object.hasOwn(DATABASE_TYPES, type))).toEqual([])
})

it('docs/works-with.md has each type, and whether it was run, is only written, or is refused', () => {
  const [, section = ''] = /## TypeORM's types\n(.*?)\n## /s.exec(read('docs/works-with.md')) ?? []
  const listed = [...section.matchAll(/^- \*\*(\w+):\*\* (.*?)(?=^- |\s*$(?![^]))/gms)].flatMap(
    ([, state = '', types = '']) => [...types.matchAll(/`([\w-]+)`/g)].map(([, type = '']) => [type, state]),
  )
  const known = Object.entries(DATABASE_TYPES).map(([type, known]) => [
    type,
    'refused' in known ? 'refused' : known.untried ? 'written' : 'run',
  ])
  expect(listed.filter(([type = '']) => type in DATABASE_TYPES).sort()).toEqual(known.sort())
})

it('a type whose dialect has never met a server is only written', () => {
  const tried = Object.values(DATABASE_TYPES).filter(
    (known) => 'dialect' in known && dialects[known.dialect].untried && !known.untried,
  )
  expect(tried).toEqual([])
})
