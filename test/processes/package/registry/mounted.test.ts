import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeAll, expect, test } from '@jest/globals'
import { tarball, temporaryFolder } from '../packed-package'
import { compile, NEWEST_TYPESCRIPT, newProject } from './project'

const project = join(temporaryFolder(), 'project')

const PACKAGES = [
  ...['typeorm@1', 'sql.js@1', 'express@5', '@types/express@5', 'fastify@5', '@fastify/formbody@8', 'hono@4'],
  ...['@hono/node-server@1', ...['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@12`)],
  ...['reflect-metadata@0.2', 'rxjs@7'],
]
/** Each has a program in fixtures/page. */
const FRAMEWORKS = ['express', 'fastify', 'hono', 'nestjs']

const started: ReturnType<typeof spawn>[] = []

afterEach(() => {
  for (const child of started.splice(0)) child.kill()
})

/** @returns the port that it prints */
function start(framework: string): Promise<number> {
  const child = spawn(process.execPath, [`module/page/${framework}.js`], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  return new Promise((resolve, reject) => {
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
        const [, port] = /^ready (\d+)$/m.exec(said) ?? []
        if (port !== undefined) resolve(Number(port))
      })
    child.once('exit', () => {
      reject(new Error(`It ended:\n${said}`))
    })
  })
}

beforeAll(() => {
  newProject(project, [tarball, ...PACKAGES], [])
  const fixtures = [...FRAMEWORKS, 'provider'].map((name) => `page/${name}`)
  compile(project, fixtures, { skipLibCheck: true }, NEWEST_TYPESCRIPT, ['module'])
})

test.each(FRAMEWORKS)('%s mounts the page as the guide says', async (framework) => {
  const port = await start(framework)
  const address = `http://127.0.0.1:${port}/admin/locks`
  const call = (query: string, user: string | undefined, options: RequestInit = {}): Promise<Response> =>
    fetch(address + query, {
      redirect: 'manual',
      ...options,
      headers: { ...(user && { authorization: `Bearer ${user}` }), ...(options.headers as object) },
    })
  expect((await call('', undefined)).status).toBe(401)
  expect((await call('', 'bob')).status).toBe(403)
  const body = new URLSearchParams({ for: '2h', reason: 'migration' })
  const pause = '?action=pause&name=job'
  const origin = new URL(address).origin
  expect((await call(pause, undefined, { method: 'POST', body, headers: { origin } })).status).toBe(401)
  expect(
    (await call(pause, 'ann', { method: 'POST', body, headers: { origin: 'http://evil' } })).status,
  ).toBe(403)
  const done = await call(pause, 'ann', { method: 'POST', body, headers: { origin } })
  expect([done.status, done.headers.get('location')]).toEqual([303, '?q=job'])
  const html = await call('', 'ann')
  expect([html.status, html.headers.get('x-frame-options')]).toEqual([200, 'DENY'])
  expect(await html.text()).toContain('paused by ann: migration')
  const json = await call('?q=paused', 'ann', { headers: { accept: 'application/json' } })
  expect(await json.json()).toMatchObject({ locks: [{ name: 'job', state: 'paused' }], failures: [] })
})
