import { describe, expect, it } from '@jest/globals'
import { errorName, LockError, LockingTaskExecutor } from '../../src/core/internal'
import { defaultLockedBy, newOwner } from '../../src/sql/owner'
import { describePlace, type SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { lockPage } from '../../src/web'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase, openMemory } from '../backends/open-database'
import { ADDRESS, FROM_HERE, mutedWarnings, newProvider, openPage, pageOf } from './open-page'

// Of these, one does not take every text as a name. What the others do with a pause and a release is in test/sql.
const backends = availableBackends().filter(({ name }) => name === 'sqlite' || name === 'postgres')

describeBackends(backends)('on $name', (backend) => {
  it('a lock is paused, resumed and released from the page', async () => {
    const { dataSource } = await openDatabase(backend)
    const provider = typeOrmLockProvider(dataSource)
    await provider.table.create()
    const { get, html, post } = pageOf(provider)
    const name = 'job'
    const paused = await post({ action: 'pause', name }, { for: '2h', reason: 'migration' })
    expect([paused.status, paused.headers.get('location')]).toEqual([303, '?q=job'])
    expect(await html()).toContain(
      `<p class="place">${describePlace(await provider.table.place()).replaceAll("'", '&#39;')}</p>`,
    )
    const pause = await provider.table.find(name)
    expect(pause).toMatchObject({ paused: true })
    expect(pause?.lockedBy).toMatch(/^paused by ann: migration\//)
    const seen = (lock = pause) => ({
      name,
      owner: lock?.lockedBy ?? '',
      until: lock?.lockUntil.toISOString() ?? '',
    })
    expect((await post({ action: 'release', ...seen() })).status).toBe(409)
    expect((await post({ action: 'resume', ...seen() })).status).toBe(303)
    expect(await provider.table.find(name)).toMatchObject({ held: false })

    await provider.lock({ name, lockAtMostFor: '1h' })
    const held = seen(await provider.table.find(name))
    expect(await html()).toContain('<span class="state running">running</span>')
    for (const wrong of [
      { owner: 'somebody else' },
      { until: new Date(0).toISOString() },
      { owner: '\u0000' },
    ])
      expect((await post({ action: 'release', ...held, ...wrong })).status).toBe(409)
    expect((await post({ action: 'resume', ...held })).status).toBe(409)
    expect(await provider.table.find(name)).toMatchObject({ held: true })
    expect((await post({ action: 'release', ...held })).status).toBe(303)
    expect(await provider.table.find(name)).toMatchObject({ held: false })

    // No lock can have these names, and PostgreSQL does not take the first one as a value.
    for (const impossible of ['a\u0000b', '\n', 'x'.repeat(4_000), ' ']) {
      const asked = { action: 'release', name: impossible, owner: impossible, until: impossible }
      expect((await get(`?${new URLSearchParams(asked).toString()}`)).status).toBe(404)
      expect((await post(asked)).status).toBe(404)
    }
    expect(await provider.table.list()).toHaveLength(1)
  })
})

/** The texts of the cells, row by row. */
function rows(html: string): string[][] {
  return [...html.matchAll(/<tr role="row"><td.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) =>
      cell
        .replace(/<[^>]+>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
    ),
  )
}

const TIME = /\d{4}-\d\d-\d\d \d\d:\d\d/g

describe('the page', () => {
  it('lists trouble first, and shows the last run, the owner and the times of each lock', async () => {
    const { provider, html } = await openPage({ overdueAfter: { backup: '1h', report: '2h', vacuum: '7d' } })
    await provider.insert('clean-up', { at: -7_205, until: -7_200 })
    await provider.insert('import', { at: -3_605, until: 7_230 })
    await provider.insert('backup', { at: -90_005, until: -90_000 })
    await provider.insert('report', { owner: 'host-2/7/2000 succeeded', at: -3_605, until: -1_800 })
    await provider.table.pause('sync', { duration: '10830s', reason: 'broken', pausedBy: 'bob' })
    await provider.table.pause('was paused', { duration: '1h', reason: 'broken', pausedBy: 'bob' })
    await provider.table.resume('was paused')
    await provider.insert('for ever', { at: -3_605, until: Infinity })
    await provider.insert('breaks', {
      owner: 'host-2/7 threw RangeError/5000 failed',
      at: -3_605,
      until: -1_800,
    })
    await provider.insert('dies', {
      owner: 'host-2/7/6f1d2c3b-7a8e-8d4f-a1b2-c3d4e5f60718',
      at: -3_605,
      until: -1_800,
    })
    const table = rows(await html())
    const shown = table.map((cells) => cells.map((cell) => cell.replace(TIME, 'then')))
    expect(shown).toEqual([
      ['for ever', 'stuck held for ever', '', 'host-2/7', '1h ago then', 'for ever', 'release'],
      ['backup', 'late limit 1h', '', 'host-2/7', '1d 1h ago then', '', 'pause'],
      ['vacuum', 'late limit 7d, it never ran', '', '', 'never', '', 'pause'],
      ['dies', 'died 30m ago', 'died then', 'host-2/7', '1h ago then', '', 'pause'],
      ['breaks', 'failed 30m ago', 'failed after 5s RangeError then', 'host-2/7', '1h ago then', '', 'pause'],
      ['import', 'running for 1h of 3h', '', 'host-2/7', '1h ago then', 'in 2h then', 'release'],
      ['sync', 'paused 3h left', '', 'paused by bob: broken', 'never', 'in 3h then', 'resume'],
      ['clean-up', 'idle', '', 'host-2/7', '2h ago then', '', 'pause'],
      ['report', 'idle', 'succeeded after 2s then', 'host-2/7', '1h ago then', '', 'pause'],
      // It is not paused any more, and nobody knows who held it before.
      ['was paused', 'idle never ran', '', '', 'never', '', 'pause'],
    ])
    expect(await html()).toContain('<h1>5 of 10 jobs need you</h1>')
    expect(rows(await html('?state=paused')).map(([name]) => name)).toEqual(['sync'])
    expect(rows(await html('?q=bob')).map(([name]) => name)).toEqual(['sync'])
    const asks = await html('?action=pause&name=was+paused')
    expect(asks).toContain('<button>pause</button>')
    expect(asks).not.toContain('bob')
  })

  it('is filtered by state, and by name, owner or error, and counts the states', async () => {
    const { provider, html, json } = await openPage()
    await provider.insert('Import')
    await provider.insert('running-late', { until: -1 })
    await provider.insert('report', { owner: 'imports/1 threw ETIMEDOUT/5 failed', until: -1 })
    const names = async (query: string): Promise<string[]> =>
      rows(await html(`?${query}`)).map(([name = '']) => name)
    expect(await names('q=import')).toEqual(['report', 'Import'])
    expect(await names('q=etimedout')).toEqual(['report'])
    // The name of a job is not its state.
    expect(await names('state=running')).toEqual(['Import'])
    expect(await names('state=trouble')).toEqual(['report'])
    expect(await names('q=nobody')).toEqual([])
    expect(await html('?q=nobody')).toContain('No job matches. <a href="?">Show all</a>')
    expect((await json('?state=failed')).locks.map(({ name }) => name)).toEqual(['report'])
    expect((await json('?state=late')).locks).toEqual([])
    const all = await html('?state=running&q=imp')
    expect(all).toContain('<a href="?q=imp" data-key="state ">all 3</a>')
    expect(all).toContain(
      '<a href="?q=imp&#38;state=running" data-key="state running" aria-current="true">running 1</a>',
    )
    expect(all).toContain('need you 1</a>')
    expect(all).not.toContain('late 0')
  })

  it('sorts the names of a state as people count', async () => {
    const { provider, html } = await openPage()
    for (const name of ['tenant-10', 'tenant-9', 'billing']) await provider.insert(name)
    expect(rows(await html()).map(([name]) => name)).toEqual(['billing', 'tenant-9', 'tenant-10'])
  })

  it('lets a long name, owner or error break between its words', async () => {
    const { provider, html } = await openPage()
    await provider.insert('com.acme.StockLevelSync', { owner: 'worker.eu-1.example.com/17' })
    await provider.table.pause('short.name', {
      duration: '1h',
      reason: 'see v2.Notes',
      pausedBy: 'ann@example.com',
    })
    await provider.insert('import', { owner: 'a/1 threw PrismaClientKnownRequestError/5 failed', until: -1 })
    const shown = await html()
    expect(shown).toContain('com.<wbr>acme.<wbr>Stock<wbr>Level<wbr>Sync<')
    expect(shown).toContain('worker.<wbr>eu-1.<wbr>example.<wbr>com/<wbr>17<')
    expect(shown).toContain('Prisma<wbr>Client<wbr>Known<wbr>Request<wbr>Error<')
    expect(shown).toContain('short.name<')
    expect(shown).toContain('paused by ann@<wbr>example.<wbr>com:<wbr> see v2.Notes<')
  })

  it('shows a hundred of many at a time', async () => {
    const { provider, html, json } = await openPage()
    for (let index = 0; index < 202; index++) await provider.insert(`job ${index}`, { until: index - 200 })
    const first = await html()
    expect(rows(first)).toHaveLength(100)
    expect(rows(first)[0]?.[0]).toBe('job 201')
    // Above the table and below it, because on a phone a hundred jobs are long.
    expect(first.split('<span>1 to 100 of 202</span><a href="?page=2">Next</a>')).toHaveLength(3)
    const last = await html('?q=job&page=3')
    expect(rows(last)).toHaveLength(2)
    expect(last).toContain('<a href="?q=job&#38;page=2">Previous</a><span>201 to 202 of 202</span>')
    for (const wrong of ['0', '-1', 'x', '1e9', 'NaN', '1.5', '']) {
      const shown = rows(await html(`?page=${wrong}`))
      expect([wrong, shown.length]).toEqual([wrong, wrong === '1e9' ? 2 : 100])
    }
    expect(await html('?q=job+99')).not.toContain('aria-label="Pages"')
    expect((await json()).locks).toHaveLength(202)
  })

  it.each([
    ['', '15'],
    ['?q=a', '15'],
    ['?refresh=filter&q=a', undefined],
    ['?refresh=off', undefined],
  ])('reloads itself, unless it has a field that one can type into: %s', async (query, seconds) => {
    const { get, provider } = await openPage()
    await provider.insert('job')
    const page = await (await get(query)).text()
    expect(/<noscript><meta http-equiv="refresh" content="(\d+)">/.exec(page)?.[1]).toBe(seconds)
    expect(page.includes('<body data-refresh="15">')).toBe(seconds !== undefined)
    expect(page.includes('type="search"')).toBe(seconds === undefined)
  })

  it('has its title above everything, and production in red', async () => {
    for (const [title, look] of [
      ['Shop production', 'title live'],
      ['Live', 'title live'],
      ['Product staging', 'title'],
      ['Delivery', 'title'],
    ] as const) {
      const { html } = await openPage({ title })
      for (const query of ['', '?action=pause&name=job']) {
        const shown = await html(query)
        expect(shown).toMatch(new RegExp(`<body[^>]*><header class="${look}">${title}</header>`))
        expect(shown).toContain(`<title>${title}: `)
        expect(shown).toContain('<p class="place">table shedlock, sqlite</p>')
      }
    }
    const empty = await (await openPage()).html()
    expect(empty).toContain('<body data-refresh="15"><main>')
    expect(empty).toContain('<h1>There are no jobs yet</h1>')
  })

  it('confirms an action once, to the visitor who did it', async () => {
    const { post, get } = await openPage()
    const done = await post({ action: 'pause', name: '<job>' }, { for: '1h', reason: 'r' })
    const [cookie = ''] = done.headers.get('set-cookie')?.split(';') ?? []
    const after = await get('?q=job', { cookie })
    expect(await after.text()).toContain(
      '<div class="done" role="status"><strong>Done.</strong> The job &#60;job&#62; is paused.</div>',
    )
    expect(after.headers.get('set-cookie')).toMatch(/^shedlock-done=; Max-Age=0/)
    for (const other of ['', 'shedlock-done=', 'shedlock-done=drop.am9i', 'shedlock-done=pause.<b>'])
      expect(await (await get('?q=job', { cookie: other })).text()).not.toContain('class="done"')
  })

  it('has the same content as JSON', async () => {
    const { provider, get, json } = await openPage({ overdueAfter: { backup: '1h' } })
    await provider.insert('import', { owner: 'host-2/7', until: 60 })
    expect((await get('', { accept: 'application/json' })).headers.get('content-type')).toBe(
      'application/json; charset=utf-8',
    )
    const { locks, failures } = await json()
    expect(failures).toEqual([])
    expect(locks).toEqual([
      {
        ...{ provider: '', name: 'backup', state: 'late', why: 'limit 1h, it never ran', canRun: false },
        overdueAfter: 3_600_000,
      },
      {
        ...{ provider: '', why: expect.any(String), canRun: false },
        ...{ name: 'import', state: 'running', held: true, paused: false, lockedBy: 'host-2/7' },
        ...{ lockedAt: expect.any(String), lockUntil: expect.any(String), now: expect.any(String) },
      },
    ])
    // What a browser sends.
    const html = await get('', { accept: 'text/html,application/xhtml+xml,application/json;q=0.9' })
    expect(html.headers.get('content-type')).toBe('text/html; charset=utf-8')
  })

  it('has several providers, and acts on the one that was meant', async () => {
    const [main, audit] = [await newProvider(), await newProvider()]
    await main.insert('job', { owner: 'one' })
    await audit.insert('job', { owner: 'two' })
    const { html, post } = pageOf({ main, audit }, { overdueAfter: { missing: '1h' } })
    expect(rows(await html()).map(([name, , , owner]) => [name, owner])).toEqual([
      ['missing main', ''],
      ['job main', 'one'],
      ['job audit', 'two'],
    ])
    const until = (await audit.table.find('job'))?.lockUntil.toISOString() ?? ''
    await post({ action: 'release', provider: 'audit', name: 'job', owner: 'two', until })
    expect([(await main.table.find('job'))?.held, (await audit.table.find('job'))?.held]).toEqual([
      true,
      false,
    ])
  })

  it('asks before it acts, and names the owner whose lock is released', async () => {
    const { provider, page, html } = await openPage()
    await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    const owner = encodeURIComponent((await provider.table.find('job'))?.lockedBy ?? '')
    const [, link = ''] = /href="([^"]*action=release[^"]*)"/.exec(await html()) ?? []
    expect(link).toContain(`owner=${owner}`)
    expect(link).toMatch(/until=\d{4}-\d\d-\d\dT/)
    const asks = await html(link.replaceAll('&#38;', '&'))
    expect(asks).toContain('<dt>Owner</dt>')
    expect(asks).toContain('<dd>host-1/42</dd>')
    expect(asks).toContain('<button class="danger">release</button>')
    // The form has no address of its own, so it is sent to that of the link.
    const init = { method: 'POST', headers: FROM_HERE, body: new URLSearchParams() }
    const done = await page(new Request(ADDRESS + link.replaceAll('&#38;', '&'), init))
    expect([done.status, (await provider.table.find('job'))?.held]).toEqual([303, false])
  })

  it('says whether the process that holds a lock runs, as far as that is known on this host', async () => {
    const { provider, html } = await openPage()
    const mine = newOwner(defaultLockedBy())
    const holders = [
      ['mine', mine, 'runs on this host'],
      ['dead', mine.replace(`/${process.pid}/`, '/2147483646/'), 'gone from this host'],
      ['elsewhere', newOwner('other-host/7'), 'not known on this host'],
    ] as const
    for (const [name, owner] of holders) await provider.insert(name, { owner })
    const page = await html()
    for (const [name, , found] of holders) {
      const [, link = ''] = new RegExp(`href="([^"]*name=${name}&[^"]*)"`).exec(page) ?? []
      expect(await html(link.replaceAll('&#38;', '&'))).toContain(`<dt>Its process</dt><dd>${found}</dd>`)
    }
    await provider.insert('failed', { owner: 'host-2/7 threw ETIMEDOUT/5 failed', until: -1 })
    const asks = await html('?action=pause&name=failed')
    expect(asks).toContain('<dt>Last run</dt><dd><span>failed after 5ms</span>')
    expect(asks).toContain('ETIMEDOUT')
    expect(asks).not.toContain('Its process')
  })

  it('explains why a pause is refused', async () => {
    const { provider, post } = await openPage()
    const asked = { action: 'pause', name: 'job' }
    for (const fields of [
      { for: '1h', reason: ' ' },
      { for: '60', reason: 'r' },
    ]) {
      const answer = await post(asked, fields)
      const html = await answer.text()
      expect(answer.status).toBe(400)
      expect(html).toContain('Say how long the pause lasts')
      // What was typed is still there.
      expect(html).toContain(`name="for" value="${fields.for}"`)
      expect(html).toContain(`name="reason" value="${fields.reason}"`)
      expect(html).toContain('<button>pause</button>')
    }
    expect(await provider.table.list()).toEqual([])
    await provider.insert('job')
    const answer = await post(asked, { for: '1h', reason: 'r' })
    expect(answer.status).toBe(409)
    expect(await answer.text()).toContain('The lock has changed since you looked.')
  })

  it('is read-only unless readOnly is false', async () => {
    const asked = { action: 'pause', name: 'job' }
    const fields = { for: '1h', reason: 'r' }
    for (const [options, whose] of [
      [{ readOnly: true }, 'this page is'],
      [{ authorize: () => ({ user: 'ann', readOnly: true }) }, 'your access is'],
    ] as const) {
      const { provider, html, get, post } = await openPage(options)
      await provider.insert('held')
      expect(await html()).not.toMatch(/action=|method="post"/)
      const answer = await get('?action=pause&name=job')
      expect([answer.status, await answer.text()]).toEqual([
        403,
        `Nothing can be changed here: ${whose} read-only.\n`,
      ])
      expect((await post(asked, fields)).status).toBe(403)
      expect(await provider.table.find('job')).toBeUndefined()
    }
  })

  it('is not made without authorize, nor without a provider', async () => {
    const provider = await newProvider()
    const invalid = expect.objectContaining({ code: 'INVALID_CONFIGURATION' })
    expect(() => lockPage(provider, {} as { authorize: () => true })).toThrow(invalid)
    for (const wrong of [{}, { main: {} }, undefined])
      expect(() => lockPage(wrong as SqlLockProvider, { authorize: () => true })).toThrow(invalid)
  })
})

describe('what the app knows of its jobs', () => {
  const hourly = (after: Date): Date => new Date((Math.floor(after.getTime() / 3_600_000) + 1) * 3_600_000)

  it('shows when they are due, and which were missed', async () => {
    const { provider, html, json } = await openPage({
      jobs: { report: { due: hourly }, other: { due: hourly } },
    })
    await provider.insert('report', { owner: 'host-2/7/5 succeeded', at: -9_000, until: -8_999 })
    const [report] = (await json('?state=missed')).locks
    expect(report).toMatchObject({
      name: 'report',
      why: expect.stringMatching(/^due .+ ago, nobody ran it$/),
    })
    expect(
      rows(await html()).map(([name, state, due]) => [name, state?.split(' ')[0], due?.split(' ')[0]]),
    ).toEqual([
      ['report', 'missed', 'in'],
      ['other', 'idle', 'in'],
    ])
    expect(await html()).toContain('<title>1 of 2 jobs needs you</title>')
  })

  /** A page whose job does this. */
  async function openRun(task: () => unknown) {
    const provider = await newProvider()
    const executor = new LockingTaskExecutor(provider, { defaultLockAtMostFor: '1m' })
    const job = executor.wrap({ name: 'job', lockAtLeastFor: 0 }, task)
    const started: unknown[] = []
    const run = (by: object): unknown => {
      started.push(by)
      return job()
    }
    return { provider, started, ...pageOf(provider, { jobs: { job: { run } } }) }
  }
  const RUN = { action: 'run', name: 'job' }
  const REASON = { reason: 'the archive was empty' }

  it('runs them by hand, for a person and a reason, and says how that ended', async () => {
    const { provider, started, html, get, post } = await openRun(() => 'done')
    expect(await html()).toContain('aria-label="run job"')
    expect(await html('?action=run&name=job')).toContain('As ann')
    expect((await post(RUN)).status).toBe(400)
    const answer = await post(RUN, REASON)
    expect(answer.status).toBe(303)
    expect(started).toEqual([{ user: 'ann', ...REASON }])
    expect((await provider.table.find('job'))?.lastRun?.outcome).toBe('succeeded')
    const [cookie = ''] = answer.headers.get('set-cookie')?.split(';') ?? []
    expect(await (await get('?q=job', { cookie })).text()).toContain('The job job ran and succeeded.')
    const other = await post({ action: 'run', name: 'other' }, REASON)
    expect([other.status, await other.text()]).toEqual([409, expect.stringContaining('cannot run the job')])
  })

  it('says that a run failed, without its message, which goes to the log', async () => {
    const warnings = mutedWarnings()
    const { provider, post, html } = await openRun(() => Promise.reject(new RangeError('hunter2')))
    const answer = await post(RUN, REASON)
    expect(answer.status).toBe(500)
    const text = await answer.text()
    expect(text).toContain('<strong>The run failed:</strong> it threw RangeError.')
    expect(text).not.toContain('hunter2')
    expect(warnings.mock.calls.map(([warning]) => String(warning))).toContainEqual(
      expect.stringContaining('hunter2'),
    )
    expect((await provider.table.find('job'))?.lastRun).toMatchObject({
      outcome: 'failed',
      error: 'RangeError',
    })
    expect(rows(await html())[0]?.[2]).toMatch(/^failed after \d+m?s RangeError /)
  })

  it('says that what a call did is done when it reached no wrapped job', async () => {
    const provider = await newProvider()
    const executor = new LockingTaskExecutor(provider)
    const run = () => executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, () => 'done')
    const answer = await pageOf(provider, { jobs: { job: { run } } }).post(RUN, REASON)
    const text = await answer.text()
    expect([answer.status, (await provider.table.find('job'))?.lastRun?.outcome]).toEqual([500, 'succeeded'])
    expect(text).toContain('<strong>The call ended without reaching a wrapped job.</strong>')
    expect(text).toContain('What it did itself is done.')
    expect(text).not.toMatch(/Not done|run failed/)
    // This call has not ended.
    const wrong = () => executor.executeWithLock({ name: 'job', lockAtMostFor: '0s' }, () => 'done')
    const refused = await pageOf(provider, { jobs: { job: { run: wrong } } }).post(RUN, REASON)
    expect(await refused.text()).toContain('<strong>The run failed:</strong> INVALID_CONFIGURATION: ')
  })

  it('does not run them twice, nor for visitors who may only look', async () => {
    const { provider, post } = await openRun(() => 'done')
    const find = provider.table.find.bind(provider.table)
    // It is acquired after the page has looked.
    Object.assign(provider.table, {
      find: async (name: string) => {
        const lock = await find(name)
        await provider.lock({ name, lockAtMostFor: '1h' })
        return lock
      },
    })
    const answer = await post(RUN, REASON)
    expect([answer.status, await answer.text()]).toEqual([
      409,
      expect.stringContaining('The job did not run: lock'),
    ])
    const only = pageOf(provider, { jobs: { job: { run: () => 1 } }, readOnly: true })
    expect((await only.post(RUN, REASON)).status).toBe(403)
    expect(await only.html()).not.toContain('action=run')
  })
})

describe('a database that does not answer', () => {
  it('is reported with advice beside the locks of the other providers', async () => {
    const [main, gone] = [await newProvider(), await openMemory()]
    await main.insert('job')
    const providers = { main, audit: typeOrmLockProvider(gone) }
    const { get, json } = pageOf(providers, { overdueAfter: { elsewhere: '1h' } })
    const missing = await get()
    const html = await missing.text()
    expect(missing.status).toBe(503)
    expect(html).toContain('<h1>Not all jobs can be read</h1>')
    expect(html).toContain('The jobs of audit cannot be read: TABLE_MISSING.')
    expect(html).toContain('run the migration')
    // Nobody knows whether the other table has it.
    expect(rows(html).map(([name]) => name)).toEqual(['job main'])
    await gone.destroy()
    const { failures } = await json()
    expect(failures).toEqual([expect.objectContaining({ provider: 'audit', code: 'INVALID_CLIENT' })])
  })

  it('does not show the text of its error, which may have secrets', async () => {
    const provider = await newProvider()
    const warnings = mutedWarnings()
    const text = 'postgres://app:hunter2@db refused'
    Object.assign(provider.table, {
      list: () => Promise.reject(new LockError('DATABASE_ERROR', text)),
      find: () => Promise.reject(new Error(text)),
    })
    const { get } = pageOf(provider)
    for (const [query, message] of [
      ['', 'The database is not reachable, or it answered'],
      ['?action=pause&name=job', 'UNEXPECTED_ERROR: The app&#39;s log has the error.'],
    ] as const) {
      const answer = await get(query)
      expect(answer.status).toBe(503)
      const text = await answer.text()
      expect(text).toContain(message)
      expect(text).not.toContain('hunter2')
    }
    expect(warnings.mock.calls.filter(([warning]) => String(warning).includes('hunter2'))).toHaveLength(2)
  })

  it('is not said to have done nothing when only its answer was lost', async () => {
    mutedWarnings()
    const { provider, post } = await openPage()
    const { table } = provider
    for (const error of [new LockError('TIMEOUT', ''), new LockError('DATABASE_ERROR', ''), new Error()]) {
      const pause = table.pause.bind(table)
      table.pause = async (...given) => {
        await pause(...given)
        throw error
      }
      const name = `job-${errorName(error)}`
      const answer = await post({ action: 'pause', name }, { for: '1h', reason: 'r' })
      const text = await answer.text()
      expect([answer.status, (await table.find(name))?.paused]).toEqual([503, true])
      expect(text).toMatch(/<strong>It is not known whether this was done\.<\/strong> [A-Z_]+: /)
      expect(text).not.toContain('Not done.')
      expect(text).toContain('<a href="?">All jobs</a>')
      table.pause = pause
    }
  })

  it('says so in the tab, shows what was seen last with its age, and answers actions with a page', async () => {
    const dataSource = await openMemory()
    const provider = typeOrmLockProvider(dataSource)
    await provider.table.create()
    await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    const { get, html, post } = pageOf(provider)
    expect(await html()).toContain('<title>All 1 jobs'.replace('All 1 jobs', 'The only job is well'))
    await dataSource.destroy()
    const lost = await get()
    const text = await lost.text()
    expect([lost.status, rows(text)[0]?.[0]]).toEqual([503, 'job'])
    expect(text).toContain('<title>The jobs cannot be read</title>')
    expect(text).toMatch(/Below is what was read \d+m?s ago\./)
    const answer = await post({ action: 'pause', name: 'job' }, { for: '1h', reason: 'r' })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8'])
    expect(await answer.text()).toContain('<strong>Not done.</strong> INVALID_CLIENT')
  })
})
