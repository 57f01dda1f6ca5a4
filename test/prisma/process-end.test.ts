import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import { afterTest } from '../after-test'
import { describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { createLockTable } from '../conformance/lock-table-observer'
import { TcpProxy } from '../backends/tcp-proxy'
import { prismaBackends } from './clients'

/** MySQL has MariaDB's adapter. */
const servers = prismaBackends().filter(({ name }) => ['postgres', 'mariadb'].includes(name))

describeBackends(servers)('a process with Prisma on $name', (backend) => {
  it.each([
    ['is there again', 'after a shutdown', ['1m']],
    ['is there again', 'which only disconnects', []],
    ['is gone', 'after a shutdown', ['1s']],
  ])('whose lock lost its connection ends by itself when the server %s, %s', async (server, _, timeout) => {
    const { database, dataSource } = await openDatabase(backend)
    const table = await createLockTable(dataSource, backend.dialect)
    const proxy = await TcpProxy.listen((database.typeOrm as { port: number }).port)
    afterTest(() => proxy.close())
    const url = new URL(database.url)
    url.host = `127.0.0.1:${proxy.port}`
    const ended = promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', join(__dirname, 'process-end-worker.ts'), backend.name, url.href, ...timeout],
      { timeout: 120_000 },
    )
    // The name with an owner: what acquires the lock.
    const acquires = /to be cut[^]*\/[\da-f-]{36}|\/[\da-f-]{36}[^]*to be cut/
    await Promise.race([proxy.cutAfter(acquires), ended])
    if (server === 'is gone') await proxy.close()
    const stopped = timeout.map(() => '0')
    expect((await ended).stdout.trim().split('\n')).toEqual(['DATABASE_ERROR', ...stopped, 'disconnected'])
    if (server === 'is there again') expect(await table.isHeld('to be cut')).toBe(false)
  })
})
