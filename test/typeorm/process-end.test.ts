import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'

const servers = availableBackends('postgres', 'mariadb', 'mysql')

describeBackends(servers)('a process with TypeORM on $name', (backend) => {
  it('ends by itself after its DataSource, though a lock is still held on a connection of its own', async () => {
    const { database } = await openDatabase(backend, migrated())
    const worker = join(__dirname, 'process-end-worker.ts')
    const options = JSON.stringify(database.typeOrm)
    const args = ['--import', 'tsx', worker, options]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
    expect(stdout.trim().split('\n')).toEqual(['held', 'destroyed'])
  })
})
