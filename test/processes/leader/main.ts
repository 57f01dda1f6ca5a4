import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DataSource } from 'typeorm'
import type { DialectName } from '../../../src/sql/internal'
import { typeOrmLockProvider } from '../../../src/typeorm/internal'
import { dataSourceOptions } from '../app/connection'
import { writeEvents } from '../history/events'
import { report } from '../history/judge'
import { elections, FAULTS } from './elections'

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    elections: { type: 'string', default: '50' },
    keep: { type: 'string' },
    lease: { type: 'string', default: '2000' },
  },
})

/** `tsx test/processes/leader/main.ts --url postgres://…`; without a URL on a SQLite file. */
async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-leader-'))
  const { url = `file:${join(folder, 'leader.sqlite')}` } = values
  const [scheme = ''] = url.split(':')
  const dialect = (scheme === 'file' ? 'sqlite' : scheme) as DialectName
  const dataSource = await new DataSource(dataSourceOptions({ dialect, url })).initialize()
  await typeOrmLockProvider(dataSource).table.create()
  await dataSource.destroy()
  const [lockAtMostFor, count] = [Number(values.lease), Number(values.elections)]
  const { elected, events } = await elections({ dialect, url }, { lockAtMostFor, count })
  if (values.keep !== undefined) writeEvents(values.keep, events)
  for (const fault of FAULTS) {
    const after = elected.filter((each) => each.fault === fault).map((each) => Math.round(each.after))
    after.sort((one, other) => one - other)
    const [median, longest] = [after[after.length >> 1] ?? 0, after.at(-1) ?? 0]
    console.log(
      `${fault}: ${after.length} elections, the next leader after ${median} ms (median), ${longest} ms (longest)`,
    )
  }
  console.log(`${events.filter(({ type }) => type === 'token').length} terms, lease ${lockAtMostFor} ms`)
  report(events)
}

void main()
