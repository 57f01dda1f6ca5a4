import { CronJob } from 'cron'
import { slotOf } from 'shedlock-orm'
import { send } from './job.js'

const job: CronJob = CronJob.from({
  cronTime: '0 3 * * *',
  timeZone: 'Europe/Berlin',
  start: true,
  onTick: () => send(slotOf(job.cronTime)),
})
const missed = await provider.table.missed('report', { due: job, atMost: '2h' })
if (missed) await send(missed)
