import { spawn } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from '@jest/globals'
import { installed, node, tarball, temporaryFolder } from '../packed-package'
import { newProject } from './project'

const folder = temporaryFolder()
const nest = (version: string, platform: string): string[] => [
  ...['common', 'core', platform].map((name) => `@nestjs/${name}@${version}`),
  ...['reflect-metadata@0.2', 'rxjs@7'],
]

const FRAMEWORKS = [
  { framework: 'Express 4', fixture: 'express', packages: ['express@4', '@types/express@4'] },
  { framework: 'Express 5', fixture: 'express', packages: ['express@5', '@types/express@5'] },
  { framework: 'Fastify 5', fixture: 'fastify', packages: ['fastify@5', '@fastify/formbody@8'] },
  { framework: 'Hono 4', fixture: 'hono', packages: ['hono@4', '@hono/node-server@1'] },
  { framework: 'Nest 11 on Express', fixture: 'nestjs', packages: nest('11', 'platform-express') },
  { framework: 'Nest 12 on Express', fixture: 'nestjs', packages: nest('12', 'platform-express') },
  { framework: 'Nest 12 on Fastify', fixture: 'nestjs', packages: nest('12', 'platform-fastify') },
]

const started: ReturnType<typeof spawn>[] = []

afterEach(() => {
  for (const child of started.splice(0)) child.kill()
})

/** @returns the port that it tells */
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

test.each(FRAMEWORKS)(
  '$framework mounts the page as the guide says',
  async ({ framework, fixture, packages }) => {
    const project = join(folder, framework.replaceAll(' ', '-'))
    newProject(project, [tarball, 'typeorm@1', 'sql.js@1', ...packages], [])
    writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
    for (const name of [fixture, 'provider'])
      copyFileSync(join(__dirname, 'fixtures/page', `${name}.ts`), join(project, `${name}.ts`))
    const compilerOptions = {
      ...{
        module: 'nodenext',
        target: 'es2022',
        outDir: 'app',
        rootDir: '.',
        strict: true,
        skipLibCheck: true,
      },
      ...{ experimentalDecorators: true, emitDecoratorMetadata: true, types: ['node'] },
      typeRoots: [installed('@types')],
    }
    const files = [`${fixture}.ts`]
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    node(project, installed('typescript/bin/tsc'))

    const platform = packages.some((name) => name.includes('platform-fastify'))
      ? ['@nestjs/platform-fastify']
      : []
    const address = `http://127.0.0.1:${await start(project, `app/${fixture}.js`, ...platform)}/admin/locks`
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
  },
)
