import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { availableBackends, describeBackends } from '../backends'
import { eventually } from '../eventually'
import { itIf } from '../it-if'
import { project } from './built-cli'
import { LOCK, node, openCli, UNTIL_STOPPED } from './open-cli'

/** A process that goes on after SIGTERM, until something is written to it. */
function slowToStop(): { folder: string; work: string } {
  const folder = project({
    'work.cjs': `process.on('SIGTERM', () => console.log('stopping')); ${UNTIL_STOPPED}`,
    'package.json': JSON.stringify({ scripts: { work: 'node work.cjs' } }),
  })
  return { folder, work: `'${process.execPath}' '${join(folder, 'work.cjs')}'` }
}

// It is the same on each.
const backends = availableBackends('sqlite')

describeBackends(backends)('the command of shedlock-orm exec on $name', (backend) => {
  it.each([
    [[], 'SIGTERM', 7],
    [['--abort-after', '1h'], 'SIGTERM', 0],
    [['--abort-after', '20ms'], 'SIGTERM', 7],
    [['--abort-after', '1h'], 'SIGINT', 7],
    [[], 'SIGHUP', 7],
    [[], 'SIGQUIT', 7],
  ] as const)('with %j and %s ends with %i, and its lock is free then', async (options, signal, status) => {
    const { running, isHeld } = await openCli(backend)
    const exits = `for (const each of ['SIGTERM', '${signal}']) process.on(each, () => process.exit(7))`
    const goesOn = "for (const each of ['SIGUSR1', 'SIGUSR2']) process.on(each, () => console.log('got it'))"
    const script = `${exits}; ${goesOn}; ${UNTIL_STOPPED}`
    const { child, ended, said, stop } = await running(...LOCK, ...options, ...node(script))
    expect(await isHeld()).toBe(true)
    child.kill(signal)
    if (status === 0) {
      // Other signals are passed on at once: if the first one was too, the command has ended.
      for (const other of ['SIGUSR1', 'SIGUSR2'] as const) child.kill(other)
      await eventually(() => expect(said('stdout')).toBe('up\ngot it\ngot it\n'))
      expect(await isHeld()).toBe(true)
      void stop()
    }
    // What is not passed on would hang.
    expect(await Promise.race([ended, sleep(10_000)])).toEqual([status, null])
    expect(await isHeld()).toBe(false)
  })

  it.each([
    ['sh', (work: string) => ['sh', '-c', `${work}; true`]],
    ['a script', (work: string) => ['bash', '-c', `exec 3<&0; ${work} <&3 & wait`]],
    ['npm run', (_: string, folder: string) => ['npm', '--prefix', folder, 'run', '--silent', 'work']],
  ])('sends SIGTERM to all processes of %s, and frees the lock after the last one', async (_, command) => {
    const { running, isHeld } = await openCli(backend)
    const { folder, work } = slowToStop()
    const { child, said, stop } = await running(...LOCK, '--', ...command(work, folder))
    child.kill('SIGTERM')
    await eventually(() => expect(said('stdout')).toContain('stopping'))
    expect(await isHeld()).toBe(true)
    await stop()
    expect(await isHeld()).toBe(false)
  })

  it('waits for a process that the command left behind, and says so', async () => {
    const { running, isHeld } = await openCli(backend)
    const leaving = `exec 3<&0; ${slowToStop().work} <&3 & exit 7`
    const { said, stop } = await running(...LOCK, '--', 'sh', '-c', leaving)
    const saysSo = () => expect(said('stderr')).toContain('sh has ended, but not all processes')
    await eventually(saysSo, { timeout: 10_000 })
    expect(await isHeld()).toBe(true)
    expect(await stop()).toEqual([7, null])
    expect(await isHeld()).toBe(false)
  })

  itIf(process.platform === 'linux', 'setsid')(
    'does not wait for a zombie, nor for a process in a session of its own',
    async () => {
      const { running, isHeld } = await openCli(backend)
      // The first `sleep` ends as a zombie of its group, because the second one never asks how its children ended.
      const detaching = `(sleep 0.1 & exec setsid sh -c 'echo $$; exec sleep 600') & exit 0`
      const { ended, said } = await running(...LOCK, '--', 'sh', '-c', detaching)
      expect(await ended).toEqual([0, null])
      const left = Number(said('stdout'))
      expect(process.kill(left, 'SIGKILL')).toBe(true)
      expect(await isHeld()).toBe(false)
    },
  )
})
