import { Cron } from 'croner'
import { scheduleJob } from 'node-schedule'
import { send } from './job.js'

const [rule, tz] = ['0 3 * * *', 'Europe/Berlin']
scheduleJob({ rule, tz }, send)
const missed = await provider.table.missed('report', {
  due: new Cron(rule, { timezone: tz, paused: true }),
  atMost: '2h',
})
if (missed) await send(missed)
