import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createShedLockMigration } from 'shedlock-orm/typeorm'
import { generateClients } from '../test/prisma/generate-clients'
import { connect, temporarySqliteFile } from './database'
import { draw } from './draw'
import { EventLog, type Event } from './event-log'
import type { Fire } from './fire'
import { report } from './report'
import { ORMS, type Orm } from './settings'
import { Show } from './show'
import { paragraph } from './timeline'
import { judge } from './verdict'

const HELP = `npm run demo -- [options]

  --db URL     postgres:, mysql: or mariadb: URL of a database to use; default: a SQLite file that is removed afterwards.
               Two tables are made there, shedlock_demo_… and shedlock_demo_…_events, and dropped at the end.
  --orm NAME   ${ORMS.join(' or ')}; default: ${ORMS[0]}
  --json       print the summary as JSON, as the last line
  --svg FILE   draw what happened: demo.svg for a wide page, demo-phone.svg for a phone

Exit status: 0 when every second was run at most once and the killed process was replaced, else 1.`

async function main(): Promise<number> {
  const { values: given } = parseArgs({
    options: {
      db: { type: 'string' },
      orm: { type: 'string', default: ORMS[0] },
      json: { type: 'boolean' },
      svg: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (given.help) {
    console.log(HELP)
    return 0
  }
  const orm = given.orm as Orm
  if (!ORMS.includes(orm)) throw new Error(`--orm takes ${ORMS.join(' or ')}, not ${orm}`)

  if (orm === 'prisma') await generateClients()

  const file = given.db === undefined ? temporarySqliteFile() : undefined
  try {
    introduce(orm, given.db)
    const { fires, events } = await stage(file?.url ?? String(given.db), orm)
    if (given.svg !== undefined) {
      const { wide, phone } = draw(fires, events)
      writeFileSync(given.svg, wide)
      writeFileSync(given.svg.replace(/(\.svg)?$/, '-phone.svg'), phone)
    }
    return report(judge(events), fires.length, given.json === true)
  } finally {
    file?.remove()
  }
}

function introduce(orm: Orm, db: string | undefined): void {
  const database = db === undefined ? 'SQLite' : new URL(db).protocol.slice(0, -1)
  console.log()
  paragraph(
    '  ',
    `Three instances of an app, A, B and C, each have the same job, due every second. Without a lock it would run three times. With shedlock-orm (${orm}, ${database}) one instance runs it, and the others skip.`,
  )
  console.log()
}

/** Creates the tables, runs the show, and drops the tables. */
async function stage(url: string, orm: Orm): Promise<{ fires: readonly Fire[]; events: Event[] }> {
  const lockTable = `shedlock_demo_${randomBytes(4).toString('hex')}`
  const eventTable = `${lockTable}_events`
  const dataSource = await connect(url)
  const queryRunner = dataSource.createQueryRunner()
  const migration = new (createShedLockMigration({ tableName: lockTable }))()
  await migration.up(queryRunner)
  const log = await EventLog.open({ url, eventTable }, true)
  const show = new Show({ orm, url, lockTable, eventTable }, log)
  process.on('SIGINT', () => {
    show.interrupt()
  })
  try {
    const fires = await show.run()
    return { fires, events: await log.read() }
  } finally {
    await log.drop()
    await log.close()
    await migration.down(queryRunner)
    await queryRunner.release()
    await dataSource.destroy()
  }
}

main().then(
  (status) => {
    process.exitCode = status
  },
  (error: unknown) => {
    const { name, message } = error as Error
    console.error(`demo: ${name === 'AbortError' ? 'interrupted; tables and processes are gone' : message}`)
    process.exitCode = 1
  },
)
