import { describe, expect, it, jest } from '@jest/globals'
import { errorName, LockError, LockingTaskExecutor } from '../../src/core/internal'
import { defaultLockedBy, newOwner } from '../../src/sql/owner'
import { describePlace, JOB_STATES, type SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { lockPage } from '../../src/web'
import { availableBackends, testBackends } from '../backends'
import { openDatabase, openMemory } from '../backends/open-database'
import { startVirtualTime } from '../core/virtual-time'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { mutedWarnings, newProvider, openPage, pageOf, said } from './open-page'

// Of these, one does not take every text as a name. What the others do with a pause and a release is in test/sql.
const backends = availableBackends('sqlite', 'postgres')

testBackends(backends)('on $name a lock is paused, resumed and released from the page', async (backend) => {
  const { dataSource } = await openDatabase(backend)
  const provider = typeOrmLockProvider(dataSource)
  await provider.table.create()
  const { get, html, post } = pageOf(provider)
  const name = 'job'
  const paused = await post({ action: 'pause', name }, { for: '2h', reason: 'migration' })
  expect([paused.status, paused.headers.get('location')]).toEqual([303, '?#%2Fjob'])
  expect(await html()).toContain('<tr role="row" id="/job">')
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
  const resume = { action: 'resume', ...seen() }
  const asks = await html(`?${new URLSearchParams(resume).toString()}`)
  expect(asks).toMatch(/<dt>Pause<\/dt><dd>paused by ann: .*<dt>Until<\/dt>.*A resume repeats no run/s)
  expect((await post(resume)).status).toBe(303)
  expect(await provider.table.find(name)).toMatchObject({ held: false })

  await provider.lock({ name, lockAtMostFor: '1h' })
  const held = seen(await provider.table.find(name))
  expect(await html()).toContain('<span class="state running">running</span>')
  for (const wrong of [{ owner: 'somebody else' }, { until: new Date(0).toISOString() }, { owner: '\u0000' }])
    expect((await post({ action: 'release', ...held, ...wrong })).status).toBe(409)
  expect(await provider.table.find(name)).toMatchObject({ held: true })
  expect((await post({ action: 'release', ...held })).status).toBe(303)
  expect(await provider.table.find(name)).toMatchObject({ held: false })

  // No lock can have these names, and PostgreSQL does not take the first one as a value.
  for (const impossible of ['a\u0000b', '\n', 'x'.repeat(4_000), ' ']) {
    const asked = { action: 'release', name: impossible, owner: impossible, until: impossible }
    expect((await get(`?${new URLSearchParams(asked).toString()}`)).status).toBe(409)
    expect((await post(asked)).status).toBe(409)
  }
  expect(await provider.table.list()).toHaveLength(1)
})

/** The texts of the cells, row by row, without what to do next. */
function rows(html: string): string[][] {
  return [...html.matchAll(/<tr role="row"[^>]*><td.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) =>
      cell
        .replace(/<small class="next">[^<]*<\/small>/, '')
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
      ['dies', 'died 30m ago', 'died then', 'host-2/7', '1h ago then', '', 'pause'],
      ['breaks', 'failed 30m ago', 'failed after 5s RangeError then', 'host-2/7', '1h ago then', '', 'pause'],
      ['for ever', 'stuck held for ever', '', 'host-2/7', '1h ago then', 'for ever', 'release'],
      ['backup', 'late acquired 1d 1h ago, limit 1h', '', 'host-2/7', '1d 1h ago then', '', 'pause'],
      ['vacuum', 'late never ran, limit 7d', '', '', 'never', '', 'pause'],
      ['import', 'running for 1h of 3h', '', 'host-2/7', '1h ago then', 'in 2h then', 'release'],
      ['sync', 'paused 3h left', '', 'paused by bob: broken', 'never', 'in 3h then', 'resume'],
      ['clean-up', 'idle acquired 2h ago', '', 'host-2/7', '2h ago then', '', 'pause'],
      ['report', 'idle succeeded 30m ago', 'succeeded after 2s then', 'host-2/7', '1h ago then', '', 'pause'],
      // Nobody knows who held it before.
      ['was paused', 'idle never ran', '', 'was paused by bob: broken', 'never', '', 'pause'],
    ])
    expect(await html()).toContain('<h1>5 of 10 jobs need you</h1>')
    const asks = await html('?action=pause&name=was+paused')
    expect(asks).toMatch(/name="for" value="1h".*<button>pause<\/button>/)
    expect(asks).not.toContain('<dt>Until</dt>')
    expect(asks).toContain('<dt>Last owner</dt><dd>was paused by bob: broken</dd>')
  })

  it('lets a long name, owner or error break between its words', async () => {
    const { provider, html } = await openPage()
    await provider.insert('com.acme.StockLevelSync', { owner: 'worker.eu-1.example.com/17' })
    await provider.insert('short.name', {
      owner: 'a/1 threw PrismaClientKnownRequestError/5 failed',
      until: -1,
    })
    const shown = await html()
    expect(shown).toContain('com.<wbr>acme.<wbr>Stock<wbr>Level<wbr>Sync<')
    expect(shown).toContain('worker.<wbr>eu-1.<wbr>example.<wbr>com/<wbr>17<')
    expect(shown).toContain('Prisma<wbr>Client<wbr>Known<wbr>Request<wbr>Error<')
    expect(shown).toContain('short.name<')
  })

  it('reloads itself until it is stopped', async () => {
    const { html, provider } = await openPage()
    await provider.insert('job')
    const reloads = async (query = '') => (await html(query)).match(/http-equiv="refresh"|data-refresh="15"/g)
    expect(await reloads()).toHaveLength(2)
    const [, stop] = /href="([^"]*)" data-key="stop"/.exec(await html()) ?? []
    expect(await reloads(stop)).toBeNull()
    expect(await html()).toMatch(/Read at <time [^>]*>\S+ \d\d:\d\d:\d\d<\/time> UTC/)
  })

  it('says in each row what to do next, in red only where somebody has to', async () => {
    const { provider, html } = await openPage()
    await provider.insert('failed', { owner: 'a/1 threw ETIMEDOUT/5 failed', until: -1 })
    await provider.insert('stuck', { until: Infinity })
    await provider.insert('ahead', { at: 3_600, until: -1 })
    await provider.insert('running')
    await provider.table.pause('paused', { duration: '1h', reason: 'r' })
    const page = (await html()).replaceAll('&#39;', "'")
    const shown = [...page.matchAll(/<tr role="row" id="\/(\w+)">(.*?)<\/tr>/gs)].map(
      ([, name, row = '']) => [
        ...[name, /class="next">([^<]*)/.exec(row)?.[1]],
        ...[row.includes('class="danger"'), row.includes('class="error"')],
      ],
    )
    expect(shown).toEqual([
      ['stuck', JOB_STATES.stuck.next, true, false],
      ['failed', JOB_STATES.failed.next, false, true],
      ['ahead', JOB_STATES.stuck.next, false, false],
      ['running', undefined, false, false],
      ['paused', JOB_STATES.paused.next, false, false],
    ])
  })

  it.each([
    ['Shop production', 'title live'],
    ['Live', 'title live'],
    ['Product staging', 'title'],
    ['Delivery', 'title'],
  ])('has its title %p above everything: %s', async (title, look) => {
    const { html } = await openPage({ title })
    for (const query of ['', '?action=pause&name=job']) {
      const shown = await html(query)
      expect(shown).toMatch(new RegExp(`<body[^>]*><header class="${look}">${title}</header>`))
      expect(shown).toContain(`<title>${title}: `)
      expect(shown).toContain('<p class="place">table shedlock, sqlite</p>')
    }
  })

  it('has no band without a title, and says that there are no jobs yet', async () => {
    const empty = await (await openPage()).html()
    expect(empty).toContain('<body data-refresh="15"><main>\n<h1>There are no jobs yet</h1>')
    expect(empty).toContain('The first run of a job creates its lock.')
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
        ...{ provider: '', name: 'backup', state: 'late', why: 'never ran, limit 1h', canRun: false },
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
    const after = await Promise.all([main, audit].map(({ table }) => table.find('job')))
    expect(after.map((lock) => lock?.held)).toEqual([true, false])
  })

  it('says whether the process that holds a lock runs, as far as that is known on this host', async () => {
    const { provider, html } = await openPage()
    const mine = newOwner(defaultLockedBy())
    const holders = [
      ['mine', mine, 'runs on this host'],
      ['dead', mine.replace(`/${process.pid}/`, '/2147483646/'), 'is gone from this host'],
      ['elsewhere', newOwner('other-host/7'), 'cannot be seen from here'],
    ] as const
    for (const [name, owner] of holders) await provider.insert(name, { owner })
    const page = await html()
    for (const [name, , found] of holders) {
      const [, link = ''] = new RegExp(`href="([^"]*name=${name}&[^"]*)"`).exec(page) ?? []
      const asks = await html(link.replaceAll('&#38;', '&'))
      expect(asks).toMatch(new RegExp(`<dt>Owner</dt>.*<dt>Its process</dt><dd>${found}</dd>`))
      // What reads as an invitation stands only where the lock needs it.
      expect([name, /If you wait, the lock ends by itself in (1m|\d+s),/.test(asks)]).toEqual([
        name,
        name !== 'dead',
      ])
      expect([name, asks.includes('class="danger"')]).toEqual([name, name === 'dead'])
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
      const [status, html] = await said(post(asked, fields))
      expect(status).toBe(400)
      expect(html).toContain('Say how long the pause lasts')
      // What was typed is still there.
      expect(html).toContain(`name="for" value="${fields.for}"`)
      expect(html).toContain(`name="reason" value="${fields.reason}"`)
    }
    expect(await provider.table.list()).toEqual([])
  })

  it('is read-only unless readOnly is false', async () => {
    const asked = { action: 'pause', name: 'job' }
    const fields = { for: '1h', reason: 'r' }
    for (const [options, whose] of [
      [{ readOnly: undefined }, 'this page is'],
      [{ authorize: () => ({ user: 'ann', readOnly: true }) }, 'your access is'],
    ] as const) {
      const { provider, html, get, post } = await openPage(options)
      await provider.insert('held')
      expect(await html()).not.toMatch(/action=|method="post"/)
      const refusal = `Nothing can be changed here: ${whose} read-only.\n`
      expect(await said(get('?action=pause&name=job'))).toEqual([403, refusal])
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
      jobs: { report: { due: hourly }, other: { due: hourly }, over: { due: () => null } },
      overdueAfter: { over: '1h' },
    })
    await provider.insert('report', { owner: 'host-2/7/5 succeeded', at: -9_000, until: -8_999 })
    const [report] = (await json()).locks
    expect(report).toMatchObject({
      ...{ name: 'report', canRun: false },
      why: expect.stringMatching(/^due .+ ago, nobody ran it$/),
    })
    await provider.insert('undeclared', { until: -1 })
    expect(
      rows(await html()).map(([name, state, due]) => [name, state?.split(' ')[0], due?.split(' ')[0]]),
    ).toEqual([
      ['report', 'missed', 'in'],
      ['over', 'late', 'never'],
      ['other', 'idle', 'in'],
      ['undeclared', 'idle', 'not'],
    ])
    expect(await html()).toContain('<title>2 of 4 jobs need you</title>')
    // By the clock of the database.
    const then = (await provider.table.list()).map((lock) => ({ ...lock, now: new Date(0) }))
    jest.spyOn(provider.table, 'list').mockResolvedValueOnce(then)
    expect(rows(await html()).find(([name]) => name === 'report')?.[2]).toMatch(/^in 1h /)
    const never = await openPage({ jobs: { over: { due: () => null } } })
    expect(await never.html()).toContain('never again')
  })

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
    const { provider, started, html, post } = await openRun(() => 'done')
    expect(await html()).toContain('aria-label="run job"')
    // What had the focus is found again by its key.
    const keys = (await html()).match(/data-key="[^"]*"/g)
    expect(new Set(keys).size).toBe(keys?.length)
    expect(await html('?action=run&name=job')).toMatch(/<form method="post"><label>Reason.*As ann/)
    for (const reason of ['', ' ', 'two\rlines', 'x'.repeat(121)])
      expect(await said(post(RUN, { reason }))).toEqual([400, expect.stringContaining('name="reason"')])
    const answer = await post(RUN, REASON)
    expect(answer.status).toBe(303)
    expect(started).toEqual([{ user: 'ann', ...REASON }])
    expect((await provider.table.find('job'))?.lastRun?.outcome).toBe('succeeded')
    expect(rows(await html())[0]?.[1]).toMatch(/^idle succeeded \d+m?s ago$/)
    const other = post({ action: 'run', name: 'other' }, REASON)
    expect(await said(other)).toEqual([409, expect.stringContaining('cannot run the job')])
  })

  it.each([
    ['RangeError', 'it threw RangeError.', new RangeError('hunter2')],
    // A lost lock says why the database did not extend it.
    ['LOCK_LOST', 'LOCK_LOST:', new LockError('LOCK_LOST', 'it could not be extended: hunter2')],
  ])('says that a run failed, without its message, which goes to the log: %s', async (name, says, thrown) => {
    const warnings = mutedWarnings()
    const { provider, post, html } = await openRun(() => Promise.reject(thrown))
    const [status, text] = await said(post(RUN, REASON))
    expect(status).toBe(500)
    expect(text).toContain(`<strong>The run failed:</strong> ${says} The app`)
    expect(text).not.toContain('hunter2')
    expect(warnings.mock.calls.map(([warning]) => String(warning))).toContainEqual(
      expect.stringContaining('hunter2'),
    )
    expect((await provider.table.find('job'))?.lastRun).toMatchObject({
      outcome: 'failed',
      error: name,
    })
    expect(rows(await html())[0]?.[2]).toMatch(new RegExp(`^failed after \\d+m?s ${name} `))
  })

  it('answers within seconds, though a run goes on, whose row then says how it ended', async () => {
    const work = promiseWithResolvers()
    const { provider, post } = await openRun(() => work.promise)
    startVirtualTime({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
    const passTenSeconds = async () => {
      for (let second = 0; second < 10; second++) {
        await new Promise(setImmediate)
        await jest.advanceTimersByTimeAsync(1_000)
      }
    }
    const answers: number[] = []
    void post(RUN, REASON).then(({ status }) => answers.push(status))
    await passTenSeconds()
    expect([answers, (await provider.table.find('job'))?.held]).toEqual([[303], true])
    work.resolve()
    await passTenSeconds()
    expect((await provider.table.find('job'))?.lastRun?.outcome).toBe('succeeded')
  })

  it('says that a call reached no wrapped job', async () => {
    const { post } = await openPage({ jobs: { job: { run: () => 'done' } } })
    expect(await said(post(RUN, REASON))).toEqual([500, expect.stringContaining('runNow found no job')])
  })

  it('does not run them twice', async () => {
    const { provider, post } = await openRun(() => 'done')
    // It is acquired after the page has looked.
    jest.spyOn(provider.table, 'list').mockResolvedValueOnce([])
    await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    expect(await said(post(RUN, REASON))).toEqual([409, expect.stringContaining('did not run: lock')])
  })
})

describe('a database that does not answer', () => {
  it('is reported with advice beside the locks of the other providers', async () => {
    const [main, gone] = [await newProvider(), await openMemory()]
    await main.insert('job')
    const providers = { main, audit: typeOrmLockProvider(gone) }
    const { get, json } = pageOf(providers, { overdueAfter: { elsewhere: '1h' } })
    const [status, html] = await said(get())
    expect(status).toBe(503)
    expect(html).toContain('<h1>Not all jobs can be read</h1>')
    expect(html).toContain('The jobs of audit cannot be read: TABLE_MISSING.')
    expect(html).toContain('run the migration')
    // Nobody knows whether the other table has it.
    expect(rows(html).map(([name]) => name)).toEqual(['job main'])
    await gone.destroy()
    expect((await get('', { accept: 'application/json' })).status).toBe(503)
    const { failures } = await json()
    expect(failures).toEqual([expect.objectContaining({ provider: 'audit', code: 'INVALID_CLIENT' })])
  })

  it('does not show the text of its error, which may have secrets', async () => {
    const provider = await newProvider()
    const warnings = mutedWarnings()
    const text = 'postgres://app:hunter2@db refused'
    const list = jest
      .spyOn(provider.table, 'list')
      .mockRejectedValueOnce(new LockError('DATABASE_ERROR', text))
    list.mockRejectedValueOnce(new Error(text))
    const { get } = pageOf(provider)
    for (const [query, message] of [
      ['', 'The jobs cannot be read: DATABASE_ERROR.</strong> The database is not reachable, or it answered'],
      ['?action=pause&name=job', 'UNEXPECTED_ERROR: The app&#39;s log has the error.'],
    ] as const) {
      const [status, text] = await said(get(query))
      expect(status).toBe(503)
      expect(text).toContain(message)
      expect(text).toContain(
        query === '' ? '<title>The jobs cannot be read</title>' : '<strong>Not done.</strong>',
      )
      expect(text).not.toMatch(/hunter2|The first run of a job/)
    }
    expect(warnings.mock.calls.filter(([warning]) => String(warning).includes('hunter2'))).toHaveLength(2)
  })

  it('is not said to have done nothing when only its answer was lost', async () => {
    mutedWarnings()
    const { provider, post } = await openPage()
    const { table } = provider
    const pause = table.pause.bind(table)
    for (const error of [new LockError('TIMEOUT', ''), new LockError('DATABASE_ERROR', ''), new Error()]) {
      jest.spyOn(table, 'pause').mockImplementationOnce(async (...given) => {
        await pause(...given)
        throw error
      })
      const name = `job-${errorName(error)}`
      const [status, text] = await said(post({ action: 'pause', name }, { for: '1h', reason: 'r' }))
      expect([status, (await table.find(name))?.paused]).toEqual([503, true])
      expect(text).toMatch(/<strong>It is not known whether this was done\.<\/strong> [A-Z_]+: /)
      expect(text).not.toContain('Not done.')
      expect(text).toContain('<a href="?">All jobs</a>')
    }
  })
})
