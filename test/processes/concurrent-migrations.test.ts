import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/dialects'
import { migrationScripts } from '../../src/sql/table/definition'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { useDatabase } from '../backends/open-database'
import { hasClient, runScript } from '../backends/database-client'
import { itIf } from '../it-if'
import { program } from './program'

const PROCESSES = 10
let children: readonly ChildProcess[] = []

const answers = (): Promise<unknown[]> =>
  Promise.all(children.map(async (child) => ((await once(child, 'message')) as unknown[])[0]))
const tellAll = (message: DataSourceOptions | 'go'): Promise<unknown[]> => {
  const answered = answers()
  for (const child of children) child.send(message)
  return answered
}
const all = (answer: unknown): unknown[] => Array<unknown>(PROCESSES).fill(answer)

beforeAll(async () => {
  const worker = program(join(__dirname, 'concurrent-migrations-worker.ts'))
  children = Array.from({ length: PROCESSES }, () => fork(worker))
  await answers()
})

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

describeBackends(availableBackends().filter(({ shared }) => shared))(
  'Ten processes that migrate an empty $name at the same time',
  (backend) => {
    const opened = useDatabase(backend)
    const expectTable = async (): Promise<void> => {
      const provider = typeOrmLockProvider(opened.dataSource)
      expect(await provider.table.check()).toEqual([])
      expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeDefined()
    }

    it('all succeed with the migration of the lock table, once TypeORM has its own table', async () => {
      // TypeORM looks for it and makes it, without care for others who do the same.
      const first = await new DataSource({ ...opened.database.typeOrm, migrations: [] }).initialize()
      await first.runMigrations()
      await first.destroy()
      expect(await tellAll(opened.database.typeOrm)).toEqual(all('done'))
      expect(await tellAll('go')).toEqual(all('done'))
      await expectTable()
    })

    itIf(hasClient(backend), 'its client')(
      "all succeed with plain SQL by the database's client",
      async () => {
        const { up } = migrationScripts(dialects[backend.dialect])
        const runs = Array.from({ length: PROCESSES }, () => runScript(backend, opened.database, up))
        expect(await Promise.all(runs)).toEqual(all({ ok: true, stderr: '' }))
        await expectTable()
      },
    )
  },
)
