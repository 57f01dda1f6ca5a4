import { renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { expect, it } from '@jest/globals'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { listening } from '../listening'
import { failed, runCli, startCli } from './built-cli'
import { openCli } from './open-cli'

describeBackends(availableBackends('sqlite'))('the page of the command line on $name', (backend) => {
  /** @returns the address that it prints */
  async function serve(env: Record<string, string>, ...args: string[]) {
    const { child, up, ended, said } = startCli(['web', ...args], env)
    afterTest(() => child.kill('SIGKILL'))
    await up
    return { address: said('stdout').trim(), child, ended, said }
  }

  const PAUSE = '?action=pause&name=job'
  const post = (address: string): Promise<Response> =>
    fetch(address + PAUSE, {
      ...{ method: 'POST', redirect: 'manual', headers: { origin: new URL(address).origin } },
      body: new URLSearchParams({ for: '1h', reason: 'r' }),
    })

  it('serves the page to whoever has its address, until Ctrl-C', async () => {
    const { provider, env } = await openCli(backend)
    const { address, child, ended, said } = await serve(env, 'job=1h', '--title', 'Shop, production')
    expect(said('stderr')).toMatch(
      /^shedlock-orm: Shop, production\nshedlock-orm: table shedlock, database .*sqlite\n/,
    )
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}$/)
    const html = await (await fetch(address)).text()
    expect(html).toContain('limit 1h')
    expect(html).toContain('Shop, production</header>')
    const { origin, pathname } = new URL(address)
    const near = [`${pathname}/`, pathname.slice(0, -1), `/x/..${pathname}x`]
    for (const path of ['', '/', '/favicon.ico', ...near])
      expect((await fetch(origin + path)).status).toBe(403)
    // A wrong address is no error of the command.
    expect(said('stderr')).toMatch(/: Press Ctrl-C to stop\.\n$/)
    expect((await post(address)).status).toBe(403)
    // It does not listen for other hosts.
    await expect(fetch(address.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow('fetch failed')
    expect(await provider.table.list()).toEqual([])
    child.kill('SIGINT')
    expect(await ended).toEqual([0, null])
  })

  it('changes locks with --write, on the port that it is given', async () => {
    const { provider, env } = await openCli(backend)
    const { address } = await serve(env, '--write', '--port', '0')
    expect((await post(address)).status).toBe(303)
    expect((await provider.table.find('job'))?.lockedBy).toContain(`paused by ${userInfo().username}@`)
    await provider.table.resume('job')
    const ann = await serve(env, '--write', '--paused-by', 'ann')
    expect((await post(ann.address)).status).toBe(303)
    expect((await provider.table.find('job'))?.lockedBy).toContain('paused by ann: r/')
    ann.child.kill('SIGTERM')
    expect(await ann.ended).toEqual([0, null])
    expect((await runCli(['web', '--write', '--paused-by', ' '], { env })).status).toBe(2)
    const port = String(await listening(createServer()))
    expect(await runCli(['web', '--port', port], { env })).toEqual(failed(2, `Port ${port} cannot be used`))
  })

  it('shows the locks of the file that took the place of another one', async () => {
    const [before, after] = [await openCli(backend), await openCli(backend)]
    const { address } = await serve(before.env)
    await after.provider.lock({ name: 'only-in-the-new-file', lockAtMostFor: '1h' })
    const [old, recent] = [before, after].map(({ database }) => database.url.replace('file:', ''))
    renameSync(recent ?? '', old ?? '')
    expect(await (await fetch(address)).text()).toContain('only-in-the-new-file')
    rmSync(old ?? '')
    expect((await fetch(address)).status).toBe(503)
  })

  it('reports what is wrong before it serves anything', async () => {
    const { env } = await openCli(backend)
    expect((await runCli(['web', 'job=25'], { env })).status).toBe(2)
    expect((await runCli(['web', '--port', 'x'], { env })).status).toBe(2)
    const { child, up, ended, said } = startCli(['web', '--table-name', 'other'], env)
    afterTest(() => child.kill('SIGKILL'))
    // One that serves the page says so, and does not end.
    expect([await Promise.race([up, ended]), said('stdout')]).toEqual([[3, null], ''])
  })
})
