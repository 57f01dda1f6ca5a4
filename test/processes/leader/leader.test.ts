import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { availableBackends, testBackends } from '../../backends'
import { migrated, openDatabase } from '../../backends/open-database'
import { elections, FAULTS, overlaps, terms } from './elections'

const shared = availableBackends().filter((backend) => backend.shared)
// One is enough here; `test/processes/leader/main.ts` does it for as long as one likes.
const one = shared.find(({ dialect }) => dialect !== 'sqlite') ?? shared[0]

testBackends(one ? [one] : [])(
  'a leader that is killed, paused or asked to end has one successor, and never one beside it: $name',
  async (backend) => {
    const { database } = await openDatabase(backend, migrated())
    const claims = join(mkdtempSync(join(tmpdir(), 'shedlock-leader-')), 'claims')
    const order = { typeOrm: database.typeOrm, lockAtMostFor: 3_000, claims }
    expect((await elections(order, 3)).map(({ fault }) => fault)).toEqual(FAULTS)
    expect(terms(order).length).toBeGreaterThan(2)
    expect(overlaps(terms(order))).toEqual([])
  },
)
