import { expect } from '@jest/globals'
import { availableBackends, testBackends } from '../../backends'
import { migrated, openDatabase } from '../../backends/open-database'
import { judge } from '../history/referee'
import { elections, FAULTS } from './elections'

const shared = availableBackends().filter((backend) => backend.shared)
// One is enough here; `test/processes/leader/main.ts` does it for as long as one likes.
const one = shared.find(({ dialect }) => dialect !== 'sqlite') ?? shared[0]

testBackends(one ? [one] : [])(
  'a leader that is killed, paused or asked to end has one successor, and never one beside it: $name',
  async (backend) => {
    const { database } = await openDatabase(backend, migrated())
    const connection = { dialect: backend.dialect, url: database.url }
    const { elected, events } = await elections(connection, { lockAtMostFor: 3_000, count: 3 })
    expect(elected.map(({ fault }) => fault)).toEqual(FAULTS)
    expect(events.filter(({ type }) => type === 'token').length).toBeGreaterThan(2)
    expect(judge(events)).toEqual([])
  },
)
