import Bree from 'bree'

const bree = new Bree({
  jobs: [{ name: 'report', cron: '0 3 * * *', timezone: 'Europe/Berlin' }],
})
await bree.start()
await bree.run('report')
