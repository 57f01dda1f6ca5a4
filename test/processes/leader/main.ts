import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { typeOrmLockProvider } from '../../../src/typeorm/internal'
import { elections, FAULTS, overlaps, terms } from './elections'

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    elections: { type: 'string', default: '50' },
    lease: { type: 'string', default: '2000' },
  },
})

/** `tsx test/processes/leader/main.ts --url postgres://…`; without a URL on a SQLite file. */
async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-leader-'))
  const { url } = values
  const type = url?.split(':')[0]
  const typeOrm = (
    url === undefined
      ? { type: 'better-sqlite3', database: join(folder, 'leader.sqlite'), enableWAL: true }
      : { type, url }
  ) as DataSourceOptions
  const dataSource = await new DataSource(typeOrm).initialize()
  const provider = typeOrmLockProvider(dataSource)
  await provider.table.create()
  const order = { typeOrm, lockAtMostFor: Number(values.lease), claims: join(folder, 'claims') }
  const outcomes = await elections(order, Number(values.elections))
  await dataSource.destroy()
  for (const fault of FAULTS) {
    const after = outcomes.filter((each) => each.fault === fault).map((each) => Math.round(each.after))
    after.sort((one, other) => one - other)
    const [median, longest] = [after[after.length >> 1] ?? 0, after.at(-1) ?? 0]
    console.log(
      `${fault}: ${after.length} elections, the next leader after ${median} ms (median), ${longest} ms (longest)`,
    )
  }
  const all = terms(order)
  const wrong = overlaps(all)
  console.log(`${all.length} terms, ${wrong.length} overlaps, lease ${order.lockAtMostFor} ms`)
  if (wrong.length > 0 || outcomes.length < Number(values.elections)) {
    console.log(JSON.stringify(wrong))
    process.exitCode = 1
  }
}

void main()
