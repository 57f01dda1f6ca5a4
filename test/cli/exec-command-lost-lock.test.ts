import { expect, it } from '@jest/globals'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { eventually } from '../eventually'
import { failed, FULL, runCli, startCli } from './built-cli'
import { FOREVER, node, openCli, UNTIL_STOPPED } from './open-cli'

/** A clock that is twenty times as fast. */
const fast =
  'const n=performance.now.bind(performance),s=setTimeout;performance.now=()=>20*n();globalThis.setTimeout=(f,t,...a)=>s(f,t/20,...a)'
const FAST = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(fast)}` }

// It is the same on each.
describeBackends(availableBackends('sqlite'))('a lost lock of shedlock-orm exec on $name', (backend) => {
  it.each([
    ['stderr', 76, ['1s', ...FOREVER]],
    ['stderr', 76, ['1s', '--quiet', ...FOREVER]],
    ['stdout', 7, ['10m', ...node('process.exit(7)')]],
  ] as const)(
    'stops a command whose lock is lost, or has its status, though %s cannot be written: %i',
    async (stream, status, rest) => {
      const { env } = await openCli(backend)
      const exec = ['exec', 'job', '--lock-at-most-for', ...rest]
      expect(await runCli(exec, { env, under: FULL[stream] })).toMatchObject({ status })
    },
  )

  it('stops the command after a release by hand, and reports it', async () => {
    const { run, isHeld } = await openCli(backend)
    const running = run('exec', 'job', '--lock-at-most-for', '4s', '--keep-alive', ...FOREVER)
    await eventually(async () => expect(await isHeld()).toBe(true))
    expect((await run('release', 'job', '--yes')).status).toBe(0)
    const { status, stderr } = await running
    expect(status).toBe(76)
    expect(stderr).toMatch(/Lock 'job' .* released by hand.* The command is being stopped\.$/m)
    expect(stderr).not.toContain('lease was over')
  })

  it('extends a lock for which nobody gave a lease', async () => {
    const { lease, env } = await openCli(backend)
    // The first extension comes after twenty seconds.
    const { child } = startCli(['exec', 'job', '--wait', '5m', ...FOREVER], { ...env, ...FAST })
    afterTest(() => child.kill('SIGTERM'))
    await eventually(async () => expect(child.exitCode !== null || (await lease()) > 60_000).toBe(true))
    expect(child.exitCode).toBeNull()
  })

  it('says in one line each time that the lock could not be extended, or released', async () => {
    const { dataSource, running } = await openCli(backend)
    const lease = ['exec', 'job', '--lock-at-most-for', '2s', '--keep-alive', '--quiet']
    const { ended, said } = await running(...lease, ...node("console.log('up'); setInterval(() => 0, 1e6)"))
    const other = await running('exec', 'other', '--lock-at-most-for', '10m', ...node(UNTIL_STOPPED))
    await dataSource.query('alter table shedlock rename to elsewhere')
    expect(await other.stop()).toEqual([0, null])
    expect(other.said('stderr')).toMatch(/\nshedlock-orm: Lock 'other' could not be released.*\n$/)
    expect(await ended).toEqual([76, null])
    // The last attempts have no time to find out that the table is missing, and print the database's error.
    expect(said('stderr')).toMatch(
      /^(shedlock-orm: Lock 'job' could not be extended; .*\n)+shedlock-orm: Lock 'job' can no longer be trusted: .*There is no lock table/,
    )
  })

  it('does not begin, and stops what runs, when the lock is over that early', async () => {
    const { run } = await openCli(backend)
    const runs = Array.from({ length: 8 }, (_, index) =>
      run('exec', `job-${index}`, '--lock-at-most-for', `${20 + 10 * index}ms`, ...FOREVER),
    )
    // 3: the database took longer than the lock lasts.
    for (const { status } of await Promise.all(runs)) expect([76, 3]).toContain(status)
  })

  it('stops the command at the end of --keep-alive-at-most, and not before', async () => {
    const { lease, run, isHeld } = await openCli(backend)
    const limited = ['--lock-at-most-for', '4s', '--keep-alive-at-most', '5s']
    const running = run('exec', 'job', ...limited, ...FOREVER)
    await eventually(async () => expect(await lease()).toBeGreaterThan(5_000))
    expect(await running).toEqual(
      failed(
        76,
        /^shedlock-orm: Lock 'job' .* no longer extended, .*keepAlive\.atMost.* The command is being stopped\.$/m,
      ),
    )
    expect(await isHeld()).toBe(false)
  })

  it('ends processes that ignore SIGTERM when the lock is lost', async () => {
    const { env, isHeld } = await openCli(backend)
    const stubborn = `trap '' TERM; sleep 600 & trap - TERM; sleep 600`
    // It waits until no process has its output. They are killed after ten seconds.
    const exec = ['exec', 'job', '--lock-at-most-for', '20s', '--', 'sh', '-c', stubborn]
    const { status, stderr } = await runCli(exec, { env: { ...env, ...FAST } })
    expect({ status, stderr }).toEqual({ status: 76, stderr: expect.not.stringContaining('stays held') })
    expect(await isHeld()).toBe(false)
  })
})
