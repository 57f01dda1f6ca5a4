import { Cron } from 'croner'
import { scheduleJob } from 'node-schedule'
import { slotOf } from 'shedlock-orm'
import { send } from './job.js'

const [rule, tz] = ['0 3 * * *', 'Europe/Berlin']
scheduleJob({ rule, tz }, send)
await send(slotOf(new Cron(rule, { timezone: tz, paused: true })))
