import { expect, it } from '@jest/globals'
import { everyClient } from './every-client'
import { COUNT_CHANGED_ROWS } from './session-settings'
import { describeBackends } from '../backends'

// MySQL's clients are the same.
const clients = everyClient().filter(({ backend }) => backend === 'mariadb')

describeBackends(clients)('a session of $title', (each) => {
  it('that counts changed rows only finds its lock when an extension changes nothing', async () => {
    const client = await each.open({}, COUNT_CHANGED_ROWS[each.orm])
    const lock = await client.createProvider().lock({ name: 'job', lockAtMostFor: '1m' })
    // Shorter than what is left.
    await lock?.extend('1s')
    expect(lock?.remaining()).toBeGreaterThan(0)
    await lock?.unlock()
  })

  it('that pads columns of type char recognises names and owners', async () => {
    const client = await each.open({ sql_mode: 'PAD_CHAR_TO_FULL_LENGTH' })
    const binary = 'character set utf8mb4 collate utf8mb4_bin not null'
    await client.observer.query(
      `alter table shedlock modify name char(64) ${binary}, modify locked_by char(255) ${binary}`,
    )
    const provider = client.createProvider({ lockedBy: 'host/1' })
    const slot = { name: 'job', lockAtMostFor: '1m', slot: 1_700_000_000_000, untilSucceeded: true }
    await (await provider.lock(slot))?.unlock({ outcome: 'failed' })
    expect(await provider.table.find('job')).toMatchObject({ name: 'job', lastRun: { outcome: 'failed' } })
    expect(await provider.table.overdue({ job: '10000d' })).toEqual([])
    const lock = await provider.lock(slot)
    expect(lock).toBeDefined()
    await lock?.unlock({ outcome: 'succeeded' })
  })
})
