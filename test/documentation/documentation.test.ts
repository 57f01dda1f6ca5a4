import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { build, stop } from 'esbuild'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { pages } from './documents'
import { onAFile } from './on-a-file'
import { programs } from './programs'

const root = join(__dirname, '../..')
const all = pages(root).flatMap((page) => programs(root, page))
const toRun = all.filter(({ run }) => run)
const pagesToRun = [...new Set(toRun.map(({ page }) => page))]
/** What the programs take for granted, and what generated clients are to the types: one compiler reads the types of Prisma once. */
const TYPES = ['../test/documentation/taken-for-granted.ts', '../test/prisma/types/clients.ts']
let folder: string

/** Each page has a folder of its own, so that it may have files of its own. */
function folderOf(page: string): string {
  return join(folder, page.replace(/\.md$/, ''))
}

function node(cwd: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
}

beforeAll(() => {
  // Inside of the project, so that what the programs import is found.
  folder = mkdtempSync(join(root, '.programs-'))
  const files = all.filter(({ page, file }) => page === 'README.md' && file.endsWith('.ts'))
  for (const page of new Set(all.map((program) => program.page))) {
    // What `prisma generate` makes for a user, and the files that the README asks for.
    mkdirSync(join(folderOf(page), 'generated'), { recursive: true })
    symlinkSync(join(root, 'test/prisma/generated/sqlite'), join(folderOf(page), 'generated/prisma'))
    for (const { file, text } of files) writeFileSync(join(folderOf(page), file), text)
  }
  for (const { page, file, text } of all) writeFileSync(join(folderOf(page), file), text)
  const compilerOptions = {
    module: 'esnext',
    moduleResolution: 'bundler',
    // One block is its own module, even if it neither imports nor exports.
    moduleDetection: 'force',
    experimentalDecorators: true,
    allowImportingTsExtensions: true,
    noPropertyAccessFromIndexSignature: false,
  }
  const programFiles = all.map(({ page, file }) => join(folderOf(page), file))
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: '../tsconfig.json',
      compilerOptions,
      include: [],
      files: [...TYPES, ...programFiles],
    }),
  )
  installPackage()
})

/** They run with the package as it is built, as a user's do: sources are CommonJS, and would load Nest a second time. */
function installPackage(): void {
  const installed = join(folder, 'node_modules/shedlock-orm')
  node(root, join(root, 'scripts/build-entries.mjs'), join(installed, 'dist'))
  copyFileSync(join(root, 'package.json'), join(installed, 'package.json'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
}

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

test('the README has programs', () => {
  expect(toRun.filter(({ page }) => page === 'README.md').length).toBeGreaterThan(1)
})

test('all that stands in the documentation compiles; generated clients fit the types, and those of a transaction do not', () => {
  node(folder, join(__dirname, 'compile.mjs'), 'tsconfig.json')
}, 300_000)

/** Compiled as they stand, run without a server. */
async function buildPrograms(): Promise<void> {
  const programFiles = all.map(({ page, file }) => join(folderOf(page), file))
  const toDeploy = pagesToRun.map((page) => join(folderOf(page), 'data-source.ts'))
  for (const path of new Set([...programFiles, ...toDeploy]))
    writeFileSync(path, onAFile(readFileSync(path, 'utf8')))
  // Each with the files that it imports in it, so that a process starts without a compiler.
  await build({
    entryPoints: [...toRun.map(({ page, file }) => join(folderOf(page), file)), ...toDeploy],
    ...{
      outdir: folder,
      outbase: folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      packages: 'external',
    },
    ...{
      platform: 'node',
      format: 'esm',
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    },
  })
  await stop()
}

// They compile against the sources, which have more than the declarations of the package.
test.each([...new Set(all.map(({ page }) => page))])('%s imports only what is exported', (page) => {
  const imports = /import (?:type )?\{([^}]*)\} from '(shedlock-orm[^']*)'/g
  const text = readFileSync(join(root, page), 'utf8')
  const missing = [...text.matchAll(imports)].flatMap(([, names = '', entry = '']) => {
    const report = readFileSync(join(root, `api/${entry.replace('/', '.')}.txt`), 'utf8')
    const exported = [...report.matchAll(/^export (?:declare |abstract )*\w+ (\w+)/gm)].map(
      ([, name]) => name,
    )
    return names
      .split(',')
      .map((name) => name.trim().replace(/^type | as .*/g, ''))
      .filter((name) => name !== '' && !exported.includes(name))
  })
  expect(missing).toEqual([])
})

interface Ended {
  readonly program: string
  readonly error?: string
}
let ended: readonly Ended[] = []
const deploys = (): string[] => pagesToRun.map((page) => join(folderOf(page), 'data-source.mjs'))
const built = ({ page, file }: { page: string; file: string }): string =>
  join(folderOf(page), file.replace(/ts$/, 'js'))

test('each page deploys its data source', async () => {
  await buildPrograms()
  const report = join(folder, 'report')
  node(folder, join(__dirname, 'run-programs.mjs'), report, ...deploys(), ...toRun.map(built))
  ended = readFileSync(report, 'utf8')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Ended]))
  expect(ended.slice(0, pagesToRun.length)).toEqual(deploys().map((program) => ({ program })))
})

test.each(toRun)('runs: $page, $heading', (program) => {
  const file = built(program)
  expect(ended.find((each) => each.program === file)).toEqual({ program: file })
})
