import { Cron } from 'croner'
import { slotOf } from 'shedlock-orm'
import { AsyncTask, CronJob, ToadScheduler } from 'toad-scheduler'

const [cronExpression, timezone] = ['*/15 * * * *', 'Europe/Berlin']
const cron = new Cron(cronExpression, { timezone, paused: true })
const send = executor.wrap(
  { name: 'report', lockAtMostFor: '14m', slot: () => slotOf(cron), onError: console.error },
  () => sendReport(),
)
new ToadScheduler().addCronJob(new CronJob({ cronExpression, timezone }, new AsyncTask('report', send)))
