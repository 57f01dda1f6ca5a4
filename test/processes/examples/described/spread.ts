import { setTimeout as sleep } from 'node:timers/promises'
import { Cron } from 'croner'
import { slotOf } from 'shedlock-orm'

for (const name of ['report', 'clean-up', 'import']) {
  const run = executor.wrap(
    { name, lockAtMostFor: '14m', slot: (due: Date) => due, onError: console.error },
    () => sendReport(),
  )
  const job: Cron = new Cron('*/15 * * * *', async () => {
    const due = slotOf(job)
    await sleep(Math.random() * 1_000)
    await run(due)
  })
}
