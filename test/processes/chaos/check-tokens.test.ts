import { expect, it } from '@jest/globals'
import { checkTokens } from './check-tokens'
import { change } from './sample-history'

it('reports a token that does not grow', () => {
  const grown = [
    change(1, 1, 'a', 1_001, 5),
    change(2, 100, 'a', 2_000, 5),
    change(3, 200, 'a/unlocked', 200, 5),
    change(4, 300, 'b', 1_300, 6),
  ]
  expect(checkTokens(grown)).toEqual([])
  expect(checkTokens([...grown, change(5, 1_400, 'c', 2_400, 6)])).toHaveLength(1)
  expect(checkTokens([...grown, change(5, 1_400, null, 0, 0), change(6, 1_500, 'c', 2_400, 1)])).toEqual([])
})

it('does not mistake a release after the end of the lease for an acquisition', () => {
  const late = [change(1, 1, 'a', 801, 5), change(2, 900, '/run succeeded', 900, 5)]
  expect(checkTokens([...late, change(3, 1_000, 'b', 2_000, 6)])).toEqual([])
  expect(checkTokens([...late, change(3, 1_000, 'b', 2_000, 5)])).toHaveLength(1)
})
