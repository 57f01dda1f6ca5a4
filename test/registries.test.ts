import { describe, expect, it } from '@jest/globals'
import { KINDS, lacking } from './registries'

describe.each(Object.entries(KINDS))('each %s', (kind, { members, places }) => {
  it('is known by its name', () => {
    expect(members.length).toBeGreaterThan(3)
  })

  it.each(Object.keys(places))('has %s', (place) => {
    expect(lacking(kind, place)).toEqual([])
  })
})
