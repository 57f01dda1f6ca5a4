import { expect, it } from '@jest/globals'
import { everyClient, openedClient } from '../conformance/every-client'
import { HOSTILE_LOCK_NAMES, quotingModes } from './quoting-modes'
import { describeBackends } from '../backends'
import { lockRow } from './lock-row'

const cases = everyClient().flatMap((client) =>
  quotingModes(client.dialect).map((mode) => ({ ...client, mode, modeTitle: JSON.stringify(mode) })),
)

describeBackends(cases)('names that look like SQL, by $title with $modeTitle', (each) => {
  const client = openedClient(each, each.mode)

  const rowsOf = async (): Promise<string[]> => {
    const rows = await client.observer.query<{ name: string }[]>('select name from shedlock')
    return rows.map(({ name }) => name).sort()
  }

  it('are separate locks, each with a row of exactly this name', async () => {
    const provider = client.createProvider({ lockedBy: `o'wner\\" or 1=1 -- ` })
    const names = HOSTILE_LOCK_NAMES
    const locks = []
    for (const name of names) locks.push(await provider.lock({ name, lockAtMostFor: '1h' }))
    expect(locks.map((lock) => lock?.name)).toEqual(names)
    for (const name of names) expect(await provider.lock({ name, lockAtMostFor: '1h' })).toBeUndefined()
    expect(await rowsOf()).toEqual([...names].sort())

    for (const [index, lock] of locks.entries()) {
      await lock?.extend('2h')
      await lock?.unlock()
      const held = (await provider.table.list()).filter((row) => row.held).map(({ name }) => name)
      expect(held.sort()).toEqual(names.slice(index + 1).sort())
    }
    expect(await rowsOf()).toEqual([...names].sort())
  })

  it('free nothing else when they are released', async () => {
    const provider = client.createProvider()
    await provider.lock({ name: 'victim', lockAtMostFor: '1h' })
    const victim = await lockRow(provider, 'victim')
    for (const name of HOSTILE_LOCK_NAMES) {
      expect(await provider.table.release({ ...victim, name })).toBe(false)
      expect(await provider.table.release({ ...victim, lockedBy: name })).toBe(false)
      expect(await client.table.isHeld('victim')).toBe(true)
    }
  })
})
