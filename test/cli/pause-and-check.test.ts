import { expect, it } from '@jest/globals'
import { availableBackends, describeBackends } from '../backends'
import { eventually } from '../eventually'
import { failed, FULL, runCli } from './built-cli'
import { openCli } from './open-cli'

const backends = availableBackends('sqlite')
const IN_TIME =
  'None of these jobs is stuck or late. With --must-have-succeeded, check also finds those that died or failed.\n'

// Which state a job has is the same for the page: test/sql/job-state.test.ts.
describeBackends(backends)('pause, resume and check on $name', (backend) => {
  it('reports which jobs are overdue', async () => {
    const { provider, run } = await openCli(backend)
    const lock = await provider.lock({ name: 'a=b', lockAtMostFor: '1m', slot: Date.now() - 7_200_000 })
    await lock?.unlock()
    const inTime = await run('check', 'a=b=3h')
    expect(inTime).toEqual({ status: 0, stdout: IN_TIME, stderr: '' })
    const { status, stdout } = await run('check', 'a=b=1h', 'never=25h')
    expect(status).toBe(1)
    expect(stdout).toMatch(
      /^a=b +late, acquired 2h ago, limit 1h \(host-1\/42\)\nnever +late, never ran, limit 1d 1h\n\nlate +See what .*\n$/,
    )
    const json = await run('check', 'a=b=1h', 'never=25h', '--json')
    expect(JSON.parse(json.stdout)).toMatchObject([
      { name: 'a=b', state: 'late', lockedAt: expect.any(String) },
      { name: 'never', state: 'late', overdueAfter: 90_000_000, lockedAt: null },
    ])
    expect(json.status).toBe(1)
  })

  it('reports how the last run ended, and whether it succeeded', async () => {
    const { provider, run } = await openCli(backend)
    const limits = ['check', 'job=1h', '--must-have-succeeded', '--running-at-most', '1ms']
    const end = async (outcome: 'succeeded' | 'failed'): Promise<void> => {
      await (await provider.lock({ name: 'job', lockAtMostFor: '1m' }))?.unlock({ outcome })
    }
    await end('succeeded')
    expect((await run('list')).stdout).toMatch(/^job +idle, succeeded \d+m?s ago \(host-1\/42\)$/m)
    expect(await run(...limits)).toMatchObject({ status: 0, stdout: 'None of these jobs needs you.\n' })
    await end('failed')
    expect((await run('list', 'job')).stdout).toMatch(
      /^state +failed, \d+m?s ago\nnext .*\nnever .*\ntook +\d+m?s$/m,
    )
    expect(await run(...limits)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(
        /^job +failed, \d+m?s ago \(host-1\/42\)\n\nfailed +Correct the error in its log/,
      ),
    })
    // `list` says that it needs you.
    expect(await run('check', 'job=1h')).toMatchObject({ status: 0, stdout: IN_TIME })
    await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    expect((await run('list', 'job')).stdout).toMatch(/^state +running, for \d+m?s of 1m$/m)
    expect(await run(...limits)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^job +late, running for \d+m?s, limit 1ms /),
    })
  })

  it('says what the last run threw', async () => {
    const { provider, run } = await openCli(backend)
    const error = Object.assign(new Error('hunter2'), { code: 'ECONNREFUSED' })
    await (await provider.lock({ name: 'job', lockAtMostFor: '1m' }))?.unlock({ outcome: 'failed', error })
    expect((await run('list', 'job')).stdout).toMatch(/^state +failed, \d+m?s ago: ECONNREFUSED$/m)
    expect((await run('check', 'job=1ms')).stdout).toMatch(/^job +late, .*, last error ECONNREFUSED /)
    expect((await run('exec', 'job', '--lock-at-most-for', '1m', '--', 'false')).status).toBe(1)
    expect((await provider.table.find('job'))?.lastRun).toMatchObject({
      outcome: 'failed',
      error: 'exit-status-1',
    })
  })

  it('pauses a job and resumes it', async () => {
    const { run, isPaused } = await openCli(backend)
    const pause = ['pause', 'job', '--duration', '8h', '--reason', 'migration', '--paused-by', 'ann']
    expect((await run(...pause)).stdout).toMatch(
      /^name +job\nstate +paused, .* left\nnext .*\nnever .*\nowner +paused by ann: migration\nlocked at +never\nlock until +\S+ \S+ UTC \(in (8h|7h 59m)\)\n/,
    )
    for (const list of [['list'], ['list', '--held']])
      expect((await run(...list)).stdout).toMatch(/^job +paused, (8h|7h 59m) left \(paused by ann/)
    expect(JSON.parse((await run('list', '--json')).stdout)).toMatchObject([{ paused: true, lockedAt: null }])
    expect(JSON.parse((await run('check', 'job=1h', 'other=1h', '--json')).stdout)).toEqual([
      { name: 'other', state: 'late', why: 'never ran, limit 1h', overdueAfter: 3_600_000, lockedAt: null },
    ])
    const again = await run(...pause)
    expect(again.status).toBe(1)
    expect((await run('pause', 'job', '--duration', '0s', '--reason', 'r')).status).toBe(2)
    expect(again.stderr).toMatch(
      /^shedlock-orm: table .*\nshedlock-orm: Lock 'job': paused, .* left \(paused by ann: migration\) – it was not paused\. To pause it for longer, /,
    )
    const skipped = await run('exec', 'job', '--lock-at-most-for', '1m', '--', 'true')
    expect(skipped.status).toBe(75)
    expect(skipped.stderr).toMatch(
      /\nshedlock-orm: Lock 'job': paused, .* left \(paused by ann: migration\) – true was skipped\.\n$/,
    )
    expect(await run('release', 'job', '--yes')).toEqual(failed(1, 'shedlock-orm resume job'))
    expect(await isPaused()).toBe(true)
    expect(await run('resume', 'job')).toMatchObject({
      status: 0,
      stdout: 'The pause has ended. If the job was due meanwhile, run it now.\n',
    })
    expect(await run('resume', 'job')).toEqual(failed(1, 'not paused'))
    expect((await run('resume', 'other')).status).toBe(1)
    expect((await run('list')).stdout).toBe('job  idle, never ran (was paused by ann: migration)\n')
    await run(...pause)
    const { stdout } = await run('resume', 'job', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ held: false, paused: false })
  })

  it('says that its output could not be written, which is no answer', async () => {
    const { env, isPaused } = await openCli(backend)
    for (const command of [
      ['pause', 'job', '--duration', '8h', '--reason', 'migration'],
      ['check', 'job=1h'],
      ['check', '--help'],
    ])
      expect(await runCli(command, { env, under: FULL.stdout })).toEqual(
        failed(3, /^shedlock-orm: The output could not be written: ENOSPC.*\n$/m),
      )
    expect(await isPaused()).toBe(true)
  })

  it('prints how the last run ended, which the pause overwrites', async () => {
    const { dataSource, provider, run, start } = await openCli(backend)
    const pause = ['pause', 'job', '--duration', '8h', '--reason', 'migration']
    const error = Object.assign(new Error('hunter2'), { code: 'ECONNREFUSED' })
    await (await provider.lock({ name: 'job', lockAtMostFor: '1m' }))?.unlock({ outcome: 'failed', error })
    expect((await run(...pause)).stderr).toMatch(
      /\nshedlock-orm: Before the pause: failed, \d+m?s ago: ECONNREFUSED \(host-1\/42\)\n$/,
    )
    await run('resume', 'job')
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    expect((await run(...pause)).stderr).toContain('it was not paused. With --wait 5m this command waits')
    const { ended, said } = start(...pause, '--wait', '1m')
    await eventually(() => expect(said('stderr')).toContain('table'))
    await lock?.unlock({ outcome: 'succeeded' })
    expect(await ended).toEqual([0, null])
    expect(said('stderr')).toMatch(/Before the pause: idle, succeeded \d+m?s ago \(host-1\/42\)\n$/)
    await run('resume', 'job')
    await dataSource.query("update shedlock set locked_by = 'java-host'")
    expect((await run(...pause)).stderr).toMatch(
      /Before the pause: idle, acquired \d+m?s ago \(java-host\)\n$/,
    )
  })
})
