import { Cron } from 'croner'
import { schedule } from 'node-cron'
import { send } from './job.js'

const [expression, timezone] = ['0 3 * * *', 'Europe/Berlin']
schedule(expression, ({ date }) => send(date), { timezone })
const due = new Cron(expression, { timezone, paused: true })
const missed = await provider.table.missed('report', { due, atMost: '2h' })
if (missed) await send(missed)
