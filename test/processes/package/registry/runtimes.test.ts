import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { findBackends } from '../../../backends/find-backends'
import { installed, run, tarball, temporaryFolder } from '../packed-package'
import { generatePrismaClient } from './generate-prisma-client'
import { newProject } from './project'
import { CLIENTS, RUNTIMES, WORKER } from './runtimes'

const MODULE_KINDS = [
  { type: 'commonjs', moduleFormat: 'cjs' },
  { type: 'module', moduleFormat: 'esm' },
] as const
const SHARED = ['run-once', 'schema-of-its-own']
const currentNode = String(Number.parseInt(process.versions.node))

const folder = temporaryFolder()
const project = join(folder, 'project')
let env: NodeJS.ProcessEnv
let stopServer: () => Promise<unknown> = () => Promise.resolve()

beforeAll(async () => {
  const packages = [...CLIENTS, WORKER].flatMap((each) => each.packages)
  newProject(project, [tarball, ...new Set(packages)], ['better-sqlite3'])
  for (const name of [...SHARED, ...CLIENTS.map(({ fixture }) => fixture), WORKER.fixture])
    copyFileSync(join(__dirname, 'fixtures', `${name}.ts`), join(project, `${name}.ts`))
  copyFileSync(join(__dirname, 'fixtures/run-worker.mjs'), join(project, 'run-worker.mjs'))
  for (const kind of MODULE_KINDS) compile(kind)
  const { url, stop } = await postgres()
  stopServer = stop
  const quiet = { DENO_DIR: join(folder, 'deno'), DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }
  env = { ...process.env, ...quiet, POSTGRES_URL: url }
})
afterAll(() => stopServer())

/** To a folder of its own, as a project of that kind does. */
function compile({ type, moduleFormat }: (typeof MODULE_KINDS)[number]): void {
  for (const provider of ['sqlite', 'postgresql'] as const)
    generatePrismaClient(project, {
      ...{ provider, output: `./generated/${provider}` },
      generator: `moduleFormat = "${moduleFormat}"\nimportFileExtension = "js"`,
    })
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2022', outDir: type, rootDir: '.', strict: true, skipLibCheck: true },
    // Once is enough to check the types.
    ...{ types: ['node'], typeRoots: [installed('@types')], noCheck: type === 'commonjs' },
  }
  const files = CLIENTS.map(({ fixture }) => `${fixture}.ts`)
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type }))
  run(project, process.execPath, installed('typescript/bin/tsc'))
  mkdirSync(join(project, type), { recursive: true })
  writeFileSync(join(project, type, 'package.json'), JSON.stringify({ type }))
}

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
    test.each(MODULE_KINDS)(refusal ? 'cannot be loaded by $type' : 'keeps locks, as $type', ({ type }) => {
      const { status, output } = start(program(home), ...args, join(type, `${fixture}.js`))
      if (refusal) expect(output).toMatch(refusal)
      else expect({ status, output }).toEqual({ status: 0, output: '' })
    })
  })
})

describe(`${WORKER.runtime}, ${WORKER.client}`, () => {
  beforeAll(() => {
    generatePrismaClient(project, {
      ...{ provider: 'sqlite', output: './generated/workerd' },
      generator: 'runtime = "workerd"',
    })
  })

  test.each([
    { flags: ['nodejs_compat'], timers: "Node's timers" },
    { flags: ['nodejs_compat', 'no_nodejs_global_timers'], timers: 'timers that are numbers' },
  ])('keeps locks with $timers, and the guard refuses it', ({ flags }) => {
    const { status, output } = start(process.execPath, 'run-worker.mjs', `${WORKER.fixture}.ts`, ...flags)
    expect({ status, output }).toMatchObject({ status: 0 })
  })
})
