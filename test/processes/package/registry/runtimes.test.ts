import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { tarball, temporaryFolder } from '../packed-package'
import { createDatabase } from './database'
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

beforeAll(async () => {
  const packages = [...CLIENTS, WORKER].flatMap((each) => each.packages)
  newProject(project, [tarball, ...new Set(packages)], ['better-sqlite3'])
  generatePrismaClients(project, 'sqlite', '', { 'module/generated/workerd': 'runtime = "workerd"' })
  generatePrismaClients(project, 'postgresql')
  const fixtures = new Set([...CLIENTS.map(({ fixture }) => fixture), 'run-once'])
  compile(project, [...fixtures], { skipLibCheck: true }, NEWEST_TYPESCRIPT)
  copyFixtures(project, 'module', [`${WORKER.fixture}.ts`, 'run-worker.mjs'])
  const quiet = { DENO_DIR: join(folder, 'deno'), DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }
  env = { ...process.env, ...quiet, POSTGRES_URL: await createDatabase() }
})

function start(program: string, ...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: project, env, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

describe.each(RUNTIMES)('$runtime $version', ({ runtime, version, packages, program, args }) => {
  const home = join(folder, `${runtime} ${version}`)

  // Only those that are wanted: each is a hundred megabytes.
  beforeAll(() => {
    newProject(home, packages, [])
    const { output } = start(program(home), '--version')
    expect(/\d+(\.\d+)+/.exec(output)?.[0]).toMatch(new RegExp(`^${version}\\.`))
  })

  // The addon of better-sqlite3 in node_modules is for one version; the others run it in nodes.test.ts.
  const clients = CLIENTS.filter(
    ({ argument }) => runtime !== 'Node.js' || version === currentNode || argument !== 'better-sqlite3',
  )
  describe.each(clients)('$client', ({ fixture, argument = '', refusedBy }) => {
    const refusal = refusedBy?.[runtime]
    test.each(MODULE_KINDS)(refusal ? 'cannot be loaded by %s' : 'keeps locks, as %s', (type) => {
      const { status, output } = start(program(home), ...args, join(type, `${fixture}.js`), argument)
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
    const worker = ['module/run-worker.mjs', `module/${WORKER.fixture}.ts`]
    expect(start(process.execPath, ...worker, ...flags)).toMatchObject({ status: 0 })
  })
})
