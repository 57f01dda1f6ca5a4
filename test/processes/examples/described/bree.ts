import Bree from 'bree'

const bree = new Bree({ jobs: [{ name: 'report', cron: '*/15 * * * *', timezone: 'Europe/Berlin' }] })
await bree.start()

process.once('SIGTERM', async () => {
  await bree.stop()
  await dataSource.destroy()
})
process.on('SIGTERM', () => {})
