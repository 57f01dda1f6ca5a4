import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, stop } from 'esbuild'
import { beforeAll, expect, test } from '@jest/globals'
import { read, root } from '../project'
import { node } from '../run-node'
import { temporaryFolder } from '../temporary-folder'
import { pages } from './documents'
import { onAFile } from './on-a-file'
import { programs } from './programs'

const all = pages().flatMap(programs)
const toRun = all.filter(({ run }) => run)
const pagesToRun = [...new Set(toRun.map(({ page }) => page))]
/** What the programs take for granted, and what generated clients are to the types: one compiler reads the types of Prisma once. */
const TYPES = ['../test/documentation/taken-for-granted.ts', '../test/prisma/types/clients.ts']
// Inside of the project, so that what the programs import is found.
const folder = temporaryFolder(join(root, '.programs-'))
/** Each page has a folder of its own, so that it may have files of its own. */
const folderOf = (page: string): string => join(folder, page.replace(/\.md$/, ''))
const pathOf = ({ page, file }: { page: string; file: string }): string => join(folderOf(page), file)

beforeAll(() => {
  const files = all.filter(({ page, file }) => page === 'README.md' && file.endsWith('.ts'))
  for (const page of new Set(all.map((program) => program.page))) {
    // What `prisma generate` makes for a user, and the files that the README asks for.
    mkdirSync(join(folderOf(page), 'generated'), { recursive: true })
    symlinkSync(join(root, 'test/prisma/generated/sqlite'), join(folderOf(page), 'generated/prisma'))
    for (const { file, text } of files) writeFileSync(pathOf({ page, file }), text)
  }
  for (const program of all) writeFileSync(pathOf(program), program.text)
  const compilerOptions = {
    module: 'esnext',
    moduleResolution: 'bundler',
    // One block is its own module, even if it neither imports nor exports.
    moduleDetection: 'force',
    experimentalDecorators: true,
    allowImportingTsExtensions: true,
    noPropertyAccessFromIndexSignature: false,
  }
  const configuration = { extends: '../tsconfig.json', compilerOptions, include: [] }
  const compiled = [...TYPES, ...all.map(pathOf)]
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...configuration, files: compiled }))
  // They run with the package as it is built, as a user's do: sources are CommonJS, and would load Nest a second time.
  const installed = join(folder, 'node_modules/shedlock-orm')
  node(root, join(root, 'scripts/build-entries.mjs'), join(installed, 'dist'))
  copyFileSync(join(root, 'package.json'), join(installed, 'package.json'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
})

test('all that stands in the documentation compiles; generated clients fit the types, and those of a transaction do not', () => {
  node(folder, join(root, 'node_modules/typescript-7/bin/tsc'), '-p', 'tsconfig.json')
})

// They compile against the sources, which have more than the declarations of the package.
test('pages import only what is exported', () => {
  const imports = /import (?:type )?\{([^}]*)\} from '(shedlock-orm[^']*)'/g
  const missing = [...new Set(all.map(({ page }) => page))].flatMap((page) =>
    [...read(page).matchAll(imports)].flatMap(([, names = '', entry = '']) => {
      const report = read(`api/${entry.replace('/', '.')}.txt`)
      return names
        .split(',')
        .map((name) => name.trim().replace(/^type | as .*/g, ''))
        .filter((name) => !new RegExp(`^export (?:declare |abstract )*\\w+ ${name}\\b`, 'm').test(report))
        .map((name) => `${page}: ${name} of ${entry}`)
    }),
  )
  expect(missing).toEqual([])
})

const deploys = pagesToRun.map((page) => join(folderOf(page), 'data-source.mjs'))
const built = (program: { page: string; file: string }): string => pathOf(program).replace(/ts$/, 'js')
let ended: readonly { readonly program: string; readonly error?: string }[] = []

test('each page deploys its data source', async () => {
  // Compiled as they stand, run without a server.
  const toDeploy = pagesToRun.map((page) => join(folderOf(page), 'data-source.ts'))
  for (const path of new Set([...all.map(pathOf), ...toDeploy]))
    writeFileSync(path, onAFile(readFileSync(path, 'utf8')))
  // Each with the files that it imports in it, so that a process starts without a compiler.
  await build({
    entryPoints: [...toRun.map(pathOf), ...toDeploy],
    ...{ outdir: folder, outbase: folder, outExtension: { '.js': '.mjs' }, bundle: true },
    ...{ packages: 'external', platform: 'node', format: 'esm' },
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  })
  await stop()
  const report = join(folder, 'report')
  node(folder, join(__dirname, 'run-programs.mjs'), report, ...deploys, ...toRun.map(built))
  ended = readFileSync(report, 'utf8')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as (typeof ended)[number]]))
  expect(ended.slice(0, pagesToRun.length)).toEqual(deploys.map((program) => ({ program })))
})

test.each(toRun)('runs: $page, $heading', (program) => {
  const file = built(program)
  expect(ended.find((each) => each.program === file)).toEqual({ program: file })
})

test.each(toRun.filter(({ text }) => text.includes("'SIGTERM'")))(
  'shuts down although it gets two signals: $page, $heading',
  (program) => {
    const preload = pathToFileURL(join(__dirname, 'two-signals.mjs')).href
    const { status, signal, stderr } = spawnSync(process.execPath, ['--import', preload, built(program)], {
      cwd: folderOf(program.page),
      encoding: 'utf8',
    })
    expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: '' })
  },
)

test('no program is ended by a second signal', () => {
  const folders = ['examples', 'demo', 'test/processes/examples/described']
  const files = folders.flatMap((name) =>
    readdirSync(join(root, name), { recursive: true, encoding: 'utf8' })
      .filter((file) => /^(?!.*(node_modules|dist)\b).*\.m?[jt]s$/.test(file))
      .map((file) => join(name, file)),
  )
  const texts = [
    ...files.map((file) => [file, read(file)] as const),
    ...all.map(({ page, text }) => [page, text] as const),
  ]
  const ended = texts.filter(([, text]) =>
    [...text.matchAll(/process\.once\(('SIG\w+')/g)].some(
      ([, signal]) => !text.includes(`process.on(${signal}`),
    ),
  )
  expect(ended.map(([file]) => file)).toEqual([])
})
