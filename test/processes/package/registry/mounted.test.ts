import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { installed, tarball, temporaryFolder } from '../packed-package'
import { compile, newProject } from './project'

const folder = temporaryFolder()
const nest = (version: string, ...platforms: string[]): string[] => [
  ...['common', 'core', ...platforms].map((name) => `@nestjs/${name}@${version}`),
  ...['reflect-metadata@0.2', 'rxjs@7'],
]

/** The frameworks of two projects: their fixtures, and the platform of Nest. */
const PROJECTS = [
  {
    age: 'older',
    packages: ['express@4', '@types/express@4', ...nest('11', 'platform-express')],
    frameworks: [
      { framework: 'Express 4', fixture: 'express', platform: [] },
      { framework: 'Nest 11 on Express', fixture: 'nestjs', platform: [] },
    ],
  },
  {
    age: 'newest',
    packages: [
      ...['express@5', '@types/express@5', 'fastify@5', '@fastify/formbody@8', 'hono@4'],
      ...['@hono/node-server@1', ...nest('12', 'platform-express', 'platform-fastify')],
    ],
    frameworks: [
      { framework: 'Express 5', fixture: 'express', platform: [] },
      { framework: 'Fastify 5', fixture: 'fastify', platform: [] },
      { framework: 'Hono 4', fixture: 'hono', platform: [] },
      { framework: 'Nest 12 on Express', fixture: 'nestjs', platform: [] },
      { framework: 'Nest 12 on Fastify', fixture: 'nestjs', platform: ['@nestjs/platform-fastify'] },
    ],
  },
]

const started: ReturnType<typeof spawn>[] = []

afterEach(() => {
  for (const child of started.splice(0)) child.kill()
})

/** @returns the port that it prints */
function start(project: string, ...args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, args, { cwd: project, stdio: ['ignore', 'pipe', 'pipe'] })
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

describe.each(PROJECTS)('a project with the $age frameworks', ({ age, packages, frameworks }) => {
  const project = join(folder, age)

  beforeAll(() => {
    newProject(project, [tarball, 'typeorm@1', 'sql.js@1', ...packages], [])
    const fixtures = [...new Set(frameworks.map(({ fixture }) => `page/${fixture}`)), 'page/provider']
    compile(project, fixtures, { skipLibCheck: true }, installed('typescript/bin/tsc'), ['module'])
  })

  test.each(frameworks)('$framework mounts the page as the guide says', async ({ fixture, platform }) => {
    const port = await start(project, `module/page/${fixture}.js`, ...platform)
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
})
