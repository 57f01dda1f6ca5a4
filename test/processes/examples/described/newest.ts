import { Cron } from 'croner'
import { slotOf } from 'shedlock-orm'
import { send } from './job.js'

const released = new Date(process.env['RELEASED_AT'] ?? Date.now())
await executor.executeWithLock({ name: 'release', lockAtMostFor: '1m', slot: released }, () => undefined)

const job: Cron = new Cron('*/15 * * * *', { catch: console.error }, async () => {
  const newest = await provider.table.find('release')
  const isNewest = !newest?.lockedAt || newest.lockedAt <= released
  if (isNewest) await send(slotOf(job))
})
