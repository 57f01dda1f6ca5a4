import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = dirname(__dirname)
const tool = (path: string): string => join(root, 'node_modules', path)

interface Manifest {
  readonly name: string
  readonly files: readonly string[]
  readonly exports: Readonly<Record<string, string | { types: string; default: string }>>
  readonly bin?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { optional?: boolean }>>
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
const entries = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => manifest.name + path.slice(1))

/** Entries that are nothing without their framework: there is nothing to load where it is not installed. */
const FRAMEWORKS: Readonly<Record<string, string>> = {
  'shedlock-orm/nestjs': '@nestjs',
  'shedlock-orm/opentelemetry': '@opentelemetry/api',
}
/** What Node adds to the names when an ES module imports a CommonJS one. */
const INTEROP = ['__esModule', 'default', 'module.exports']

const loadable = entries.filter((entry) => !(entry in FRAMEWORKS))

/** An app that has installed the packed package, and nothing beside it. */
let app: string
let tarball: string

function node(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: app, encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
  return stdout
}

function expectToLoad(entry: string): void {
  const required = node('-e', `console.log(Object.keys(require('${entry}')).sort().join())`).trim()
  const script = `import * as all from '${entry}'; console.log(Object.keys(all).sort().join())`
  const imported = node('--input-type=module', '-e', script).trim().split(',')
  expect(required).not.toBe('')
  expect(imported.filter((name) => !INTEROP.includes(name)).join()).toBe(required)
}

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-package-'))
  const source = join(folder, 'source')
  app = join(folder, 'app')
  mkdirSync(source)
  mkdirSync(app)
  // Built and packed apart, so that the test judges these sources, whatever lies in dist.
  for (const name of [
    'package.json',
    'README.md',
    'LICENSE',
    ...manifest.files.filter((file) => file !== 'dist'),
  ])
    cpSync(join(root, name), join(source, name), { recursive: true })
  execFileSync(process.execPath, [
    ...[
      tool('typescript/bin/tsc'),
      '-p',
      join(root, 'tsconfig.build.json'),
      '--outDir',
      join(source, 'dist'),
    ],
  ])
  execFileSync(process.execPath, ['scripts/build-cli.mjs', join(source, 'dist', 'cli')], { cwd: root })
  const npm = (cwd: string, ...args: string[]): void => {
    execFileSync('npm', [...args, '--offline', '--ignore-scripts', '--silent'], {
      cwd,
      shell: process.platform === 'win32',
    })
  }
  npm(source, 'pack', '--pack-destination', folder)
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '')
  writeFileSync(join(app, 'package.json'), '{ "private": true }')
  npm(app, 'install', '--omit=peer', tarball)
}, 120_000)

afterAll(() => {
  rmSync(dirname(app), { recursive: true, force: true })
})

describe('the packed package', () => {
  test('has no dependencies: its peers are optional, and nothing else is installed with it', () => {
    expect(Object.keys(manifest).filter((key) => /^(bundled?D|optionalD|d)ependencies$/.test(key))).toEqual(
      [],
    )
    for (const peer of Object.keys(manifest.peerDependencies ?? {}))
      expect(manifest.peerDependenciesMeta?.[peer], peer).toEqual({ optional: true })
    expect(readdirSync(join(app, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      manifest.name,
    ])
  })

  test('has the texts that people look for, and no sources or tests', () => {
    const files = readdirSync(join(app, 'node_modules', manifest.name))
    expect(files).toEqual(
      expect.arrayContaining(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json']),
    )
    expect(
      files.filter((name) => ['src', 'test', 'demo', 'docs', 'bench', 'examples'].includes(name)),
    ).toEqual([])
  })

  test.each(loadable)('%s loads through require and import, with the same names', expectToLoad)

  test.each(Object.entries(manifest.bin ?? {}))('the command %s starts', (_, path) => {
    node(join('node_modules', manifest.name, path), '--help')
  })

  test('passes publint', () => {
    node(tool('publint/src/cli.js'), '--strict', tarball)
  })

  test('has types that are right for each kind of module resolution', () => {
    node(tool('@arethetypeswrong/cli/dist/index.js'), tarball, '--exclude-entrypoints', 'package.json')
  })
})

describe('a TypeScript project without TypeORM and Prisma', () => {
  const consumer = `
import { LockingTaskExecutor, LockError, type LockProvider, type TaskResult } from 'shedlock-orm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'

export function executor(dataSource: Parameters<typeof typeOrmLockProvider>[0]): LockingTaskExecutor {
  const provider: LockProvider = typeOrmLockProvider(dataSource, { tableName: 'locks' })
  return new LockingTaskExecutor(provider, { defaultLockAtMostFor: '10m' })
}
export async function run(dataSource: Parameters<typeof typeOrmLockProvider>[0]): Promise<number | undefined> {
  const result: TaskResult<number> = await executor(dataSource).executeWithLock({ name: 'job' }, () => 42)
  return result.executed ? result.value : undefined
}
export const isLost = (error: unknown): boolean => error instanceof LockError && error.code === 'LOCK_LOST'
`

  test.each([
    { project: 'CommonJS', type: 'commonjs', module: 'nodenext', moduleResolution: 'nodenext' },
    { project: 'ES modules', type: 'module', module: 'nodenext', moduleResolution: 'nodenext' },
    { project: 'a bundler', type: 'module', module: 'esnext', moduleResolution: 'bundler' },
    { project: 'node10 resolution', type: 'commonjs', module: 'commonjs', moduleResolution: 'node10' },
  ])('compiles with $project, library types checked too', ({ type, module, moduleResolution }) => {
    const everything = loadable.map((entry, index) => `export * as entry${String(index)} from '${entry}'`)
    writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true, type }))
    writeFileSync(join(app, 'consumer.ts'), consumer)
    writeFileSync(join(app, 'everything.ts'), everything.join('\n'))
    writeFileSync(
      join(app, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          ...{ module, moduleResolution, target: 'es2022', ignoreDeprecations: '6.0' },
          ...{ strict: true, skipLibCheck: false, noEmit: true },
          ...{ types: ['node'], typeRoots: [tool('@types')] },
        },
        files: ['consumer.ts', 'everything.ts'],
      }),
    )
    node(tool('typescript/bin/tsc'), '-p', 'tsconfig.json')
  })
})

describe('an app with a framework', () => {
  const frameworks = Object.entries(FRAMEWORKS).filter(([entry]) => entries.includes(entry))

  test.each(frameworks)('loads %s where %s is installed', (entry, framework) => {
    const installed = join(app, 'node_modules', framework)
    mkdirSync(dirname(installed), { recursive: true })
    symlinkSync(tool(framework), installed, 'junction')
    expectToLoad(entry)
  })
})
