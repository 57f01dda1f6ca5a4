import Bree from 'bree'
import { Cron } from 'croner'

const [cron, timezone] = ['0 3 * * *', 'Europe/Berlin']
const bree = new Bree({ jobs: [{ name: 'report', cron, timezone }] })
await bree.start()
const missed = await provider.table.missed('report', {
  due: new Cron(cron, { timezone, paused: true }),
  atMost: '2h',
})
if (missed) await bree.run('report')
