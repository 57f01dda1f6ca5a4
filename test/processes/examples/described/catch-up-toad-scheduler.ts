import { Cron } from 'croner'
import { slotOf } from 'shedlock-orm'
import { AsyncTask, CronJob, ToadScheduler } from 'toad-scheduler'
import { send } from './job.js'

const [cronExpression, timezone] = ['0 3 * * *', 'Europe/Berlin']
const cron = new Cron(cronExpression, { timezone, paused: true })
const task = new AsyncTask('report', () => send(slotOf(cron)))
new ToadScheduler().addCronJob(new CronJob({ cronExpression, timezone }, task))
const missed = await provider.table.missed('report', { due: cron, atMost: '2h' })
if (missed) await send(missed)
