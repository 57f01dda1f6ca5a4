import fc from 'fast-check'
import { DataSource } from 'typeorm'
import { beforeAll, expect, it } from '@jest/globals'
import { isPause } from '../../src/sql/internal'
import { drivers } from '../../src/drivers/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { lockPage } from '../../src/web'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { anyOwner, ODD_OWNERS } from '../sql/any-owner'
import { buildCli, runCli } from './built-cli'

const ADDRESS = 'https://app.example/locks'
/** What a text of another program must not become. */
const WRONG = /NaN|Invalid|undefined|[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
let cli: string

beforeAll(() => {
  cli = buildCli()
})

const backends = availableBackends().filter(({ shared }) => shared)

describeBackends(backends)('on $name', (backend) => {
  it('whoever holds or held a lock, it is listed, shown and checked, in code, on the command line and on the page', async () => {
    const database = await backend.create()
    afterTest(() => database.drop())
    const dataSource = await new DataSource(database.typeOrm).initialize()
    afterTest(() => dataSource.destroy())
    const provider = typeOrmLockProvider(dataSource)
    await provider.table.create()
    // An empty text is null on Oracle.
    const isMySql = ['mysql', 'mariadb'].includes(backend.dialect)
    const owners = [...ODD_OWNERS, ...fc.sample(anyOwner, { seed: 20_261_123, numRuns: 60 })]
      .filter((owner) => owner !== '' || backend.dialect !== 'oracle')
      // Where a session may fill texts up with blanks, those at the end are not read.
      .map((owner) => (isMySql ? owner.replace(/ +$/, '') : owner))
    const { placeholder } = drivers[backend.dialect]
    const time = (year: number): string =>
      `${backend.dialect === 'oracle' ? 'timestamp ' : ''}'${year}-01-01 00:00:00'`
    for (const [index, owner] of owners.entries())
      for (const [state, year] of [
        ['held', 2999],
        ['free', 2001],
      ] as const)
        await dataSource.query(
          `insert into shedlock (name, lock_until, locked_at, locked_by) values (${placeholder(0)}, ${time(year)}, ${time(2001)}, ${placeholder(1)})`,
          [`${state} ${index}`, owner],
        )
    const names = owners.flatMap((_, index) => [`held ${index}`, `free ${index}`])
    const overdueAfter = Object.fromEntries(names.map((name) => [name, '1h']))

    const locks = await provider.table.list()
    expect(locks.map(({ name }) => name).sort()).toEqual([...names].sort())
    for (const [index, owner] of owners.entries())
      expect(locks.find(({ name }) => name === `held ${index}`)).toMatchObject({
        held: true,
        lockedBy: owner,
      })
    for (const { lastRun } of locks)
      for (const at of [lastRun?.startedAt, lastRun?.endedAt]) expect(at?.toISOString()).not.toBe('')
    const overdue = await provider.table.overdue(overdueAfter)
    expect(overdue.map(({ name }) => name)).toEqual(
      names.filter((name) => !name.startsWith('held') || !isPause(owners[Number(name.slice(5))] ?? '')),
    )

    const run = async (...args: readonly string[]): Promise<string> => {
      const { stdout, stderr } = await runCli(cli, args, { env: { DATABASE_URL: database.url } })
      expect(stderr).toBe('')
      expect(stdout).not.toMatch(WRONG)
      return stdout
    }
    const list = (await run('list')).trimEnd().split('\n')
    expect(list).toHaveLength(1 + names.length)
    // The owner of the last run is not known any more.
    expect(list.filter((line) => /^free \d+ +free +paused by \S/.test(line))).toEqual([])
    expect(JSON.parse(await run('list', '--json'))).toHaveLength(names.length)
    for (const index of ODD_OWNERS.keys())
      for (const state of ['held', 'free']) expect(await run('list', `${state} ${index}`)).toContain(state)
    expect((await run('check', ...names.map((name) => `${name}=1h`))).split('\n')).toHaveLength(
      1 + overdue.length,
    )

    const page = lockPage(provider, { authorize: () => true, readOnly: false, overdueAfter })
    const html = await page(new Request(ADDRESS))
    expect([html.status, WRONG.exec(await html.text())]).toEqual([200, null])
    const json = await page(new Request(ADDRESS, { headers: { accept: 'application/json' } }))
    expect(await json.json()).toMatchObject({ failures: [], locks: { length: names.length } })
    for (const [index, owner] of owners.entries()) {
      const name = `held ${index}`
      const action = isPause(owner) ? 'resume' : 'release'
      const asked = { action, name, owner, until: '2999-01-01T00:00:00.000Z' }
      const form = await page(new Request(`${ADDRESS}?${new URLSearchParams(asked).toString()}`))
      expect([form.status, WRONG.exec(await form.text())]).toEqual([200, null])
    }
  })
})
