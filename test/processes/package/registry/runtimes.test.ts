import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { findBackends } from '../../../backends/find-backends'
import { tarball, temporaryFolder } from '../packed-package'
import {
  compile,
  copyFixtures,
  generatePrismaClients,
  MODULE_KINDS,
  NEWEST_TYPESCRIPT,
  newProject,
} from './project'
import { CLIENTS, RUNTIMES, WORKER } from './runtimes'

const currentNode = String(Number.parseInt(process.versions.node))

const folder = temporaryFolder()
const project = join(folder, 'project')
let env: NodeJS.ProcessEnv
let stopServer: () => Promise<unknown> = () => Promise.resolve()

beforeAll(async () => {
  const packages = [...CLIENTS, WORKER].flatMap((each) => each.packages)
  newProject(project, [tarball, ...new Set(packages)], ['better-sqlite3'])
  generatePrismaClients(project, 'sqlite', '', { 'module/generated/workerd': 'runtime = "workerd"' })
  generatePrismaClients(project, 'postgresql')
  const fixtures = [...CLIENTS.map(({ fixture }) => fixture), 'run-once', 'schema-of-its-own']
  compile(project, fixtures, { skipLibCheck: true }, NEWEST_TYPESCRIPT)
  copyFixtures(project, 'module', [`${WORKER.fixture}.ts`, 'run-worker.mjs'])
  const { url, stop } = await postgres()
  stopServer = stop
  const quiet = { DENO_DIR: join(folder, 'deno'), DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }
  env = { ...process.env, ...quiet, POSTGRES_URL: url }
})
afterAll(() => stopServer())

async function postgres(): Promise<{ url: string; stop: () => Promise<unknown> }> {
  process.env['BACKENDS'] = 'postgres'
  const { backends, stop } = await findBackends()
  const found = backends.find(({ name }) => name === 'postgres')
  if (found?.url === undefined) throw new Error(`PostgreSQL was not found: ${found?.note ?? ''}`)
  return { url: found.url, stop }
}

function start(program: string, ...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: project, env, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

describe.each(RUNTIMES)('$runtime $version', ({ runtime, version, packages, program, args }) => {
  const home = join(folder, `${runtime} ${version}`)

  // Only those that are wanted: each is a hundred megabytes.
  beforeAll(() => {
    newProject(home, packages, [])
  })

  test('is that version', () => {
    const { output } = start(program(home), '--version')
    expect(/\d+(\.\d+)+/.exec(output)?.[0]).toMatch(new RegExp(`^${version}\\.`))
  })

  // The addon of better-sqlite3 in node_modules is for one version; the others run it in nodes.test.ts.
  const clients = CLIENTS.filter(
    ({ fixture }) => runtime !== 'Node.js' || version === currentNode || fixture !== 'typeorm',
  )
  describe.each(clients)('$client', ({ fixture, refusedBy }) => {
    const refusal = refusedBy?.[runtime]
    test.each(MODULE_KINDS)(refusal ? 'cannot be loaded by %s' : 'keeps locks, as %s', (type) => {
      const { status, output } = start(program(home), ...args, join(type, `${fixture}.js`))
      if (refusal) expect(output).toMatch(refusal)
      else expect({ status, output }).toEqual({ status: 0, output: '' })
    })
  })
})

describe(`${WORKER.runtime}, ${WORKER.client}`, () => {
  test.each([
    { flags: ['nodejs_compat'], timers: "Node's timers" },
    { flags: ['nodejs_compat', 'no_nodejs_global_timers'], timers: 'timers that are numbers' },
  ])('keeps locks with $timers, and the guard refuses it', ({ flags }) => {
    const { status, output } = start(
      process.execPath,
      'module/run-worker.mjs',
      `module/${WORKER.fixture}.ts`,
      ...flags,
    )
    expect({ status, output }).toMatchObject({ status: 0 })
  })
})
