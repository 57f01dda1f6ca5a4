import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from '@jest/globals'
import {
  entries,
  FRAMEWORKS,
  installed,
  manifest,
  node,
  npm,
  root,
  tarball,
  temporaryFolder,
} from './packed-package'

/** All that is published, beside the declarations, and the files for users to copy. */
const PUBLISHED = readFileSync(join(__dirname, 'published-files.txt'), 'utf8').trim().split('\n')

/** In bytes, as they were when somebody last looked. To accept others: UPDATE_SIZES=1 npm run check:package -- tarball */
const SIZES = join(__dirname, 'sizes.json')
/** How much more is no reason to look. */
const ROOM = 1.1

const app = join(temporaryFolder(), 'app')
const inApp = join(app, 'node_modules', manifest.name)

beforeAll(() => {
  mkdirSync(app)
  writeFileSync(join(app, 'package.json'), '{ "private": true }')
  npm(app, 'install', '--offline', '--omit=peer', tarball)
})

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => path.replaceAll('\\', '/'))
}

/** All that an app gets that imports this entry point, without its peers. */
async function minified(file: string): Promise<number> {
  const { outputFiles } = await build({
    ...{ entryPoints: [file], bundle: true, minify: true, write: false },
    ...{ platform: 'node', packages: 'external', format: file.endsWith('.mjs') ? 'esm' : 'cjs' },
  })
  return outputFiles[0]?.contents.byteLength ?? NaN
}

/** That these entries load, through `require` and `import`, with the same names. */
function expectToLoad(names: readonly string[]): void {
  const exportsOf = (load: string, type: string): Record<string, string[]> => {
    const loaded = names.map((name) => `'${name}': Object.keys(${load}('${name}')).sort()`)
    const script = `console.log(JSON.stringify({ ${loaded.join()} }))`
    return JSON.parse(node(app, `--input-type=${type}`, '-e', script)) as Record<string, string[]>
  }
  const required = exportsOf('require', 'commonjs')
  expect(Object.values(required).filter((exported) => exported.length === 0)).toEqual([])
  expect(exportsOf('await import', 'module')).toEqual(required)
}

describe('the packed package', () => {
  test('has no dependencies: its peers are optional, and nothing else is installed with it', () => {
    const dependencies = /^(bundled?D|optionalD|d)ependencies$/
    expect(Object.keys(manifest).filter((key) => dependencies.test(key))).toEqual([])
    expect(manifest.peerDependenciesMeta).toEqual(
      Object.fromEntries(Object.keys(manifest.peerDependencies).map((peer) => [peer, { optional: true }])),
    )
    const packages = readdirSync(join(app, 'node_modules')).filter((name) => !name.startsWith('.'))
    expect(packages).toEqual([manifest.name])
  })

  test('has the files of published-files.txt, the declarations, the files to copy, and no others', () => {
    // Each has its declarations; but the command line is one file.
    const sources = filesIn(join(root, 'src')).filter((path) => /^(?!cli\/).*\.ts$/.test(path))
    const declarations = sources.map((path) => `dist/${path.replace(/\.ts$/, '.d.ts')}`)
    const copied = ['migrations', 'prisma'].flatMap((folder) =>
      filesIn(join(root, folder)).map((path) => `${folder}/${path}`),
    )
    expect(filesIn(inApp).sort()).toEqual([...PUBLISHED, ...declarations, ...copied].sort())
  })

  test('has not grown by a tenth since sizes.json', async () => {
    const files = filesIn(inApp).map((path) => statSync(join(inApp, path)).size)
    const sizes: Record<string, number> = {
      packed: statSync(tarball).size,
      unpacked: files.reduce((sum, size) => sum + size, 0),
      files: files.length,
    }
    for (const [name, target] of Object.entries(manifest.exports))
      if (typeof target !== 'string')
        for (const [how, { default: file }] of Object.entries(target))
          sizes[`${how} ${name}`] = await minified(join(inApp, file))
    const noted = JSON.parse(readFileSync(SIZES, 'utf8')) as Record<string, number>
    if (process.env['UPDATE_SIZES']) writeFileSync(SIZES, `${JSON.stringify(sizes, undefined, 2)}\n`)
    expect(Object.keys(sizes)).toEqual(Object.keys(noted))
    const grown = Object.entries(noted).filter(([what, before]) => !((sizes[what] ?? NaN) < before * ROOM))
    expect(grown.map(([what, before]) => [what, before, sizes[what]])).toEqual([])
  })

  test('has classes that have kept their names', () => {
    // A bundler renames a class that speaks of itself: `var A = class _A`.
    for (const file of PUBLISHED.filter((path) => /^dist\/.*\.m?js$/.test(path)))
      expect(readFileSync(join(inApp, file), 'utf8')).not.toContain('= class _')
  })

  test.each([
    { type: 'commonjs', load: 'require', file: 'internal.js' },
    { type: 'module', load: 'await import', file: 'internal.mjs' },
  ])('has stack traces that lead to a line that can be read: $file', ({ type, load, file }) => {
    const script = `try { (${load}('${manifest.name}')).assertLocked() } catch (error) { console.log(error.stack) }`
    const stack = node(app, `--input-type=${type}`, '-e', script)
    const [, line] = new RegExp(`assertLocked \\(.*core/${file}:(\\d+):\\d+\\)`).exec(stack) ?? []
    const lines = readFileSync(join(inApp, 'dist/core', file), 'utf8').split('\n')
    expect(lines[Number(line) - 1]).toContain('throw new LockError(')
  })

  test.each(Object.entries(FRAMEWORKS))('%s says that %s is missing', (entry, framework) => {
    const load = `try { require('${entry}') } catch (error) { console.log(error.code, error.message) }`
    expect(node(app, '-e', load)).toMatch(new RegExp(`^MODULE_NOT_FOUND Cannot find module '${framework}`))
    const importing = load.replace(/require\(.*?\)/, `await import('${entry}')`)
    expect(node(app, '--input-type=module', '-e', importing)).toMatch(
      new RegExp(`^ERR_MODULE_NOT_FOUND Cannot find package '${framework}`),
    )
  })

  test('passes publint, and has types that are right for each kind of module resolution', () => {
    const tool = (path: string): string => join(__dirname, 'node_modules', path)
    node(app, tool('publint/src/cli.js'), '--strict', tarball)
    const attw = tool('@arethetypeswrong/cli/dist/index.js')
    node(app, attw, tarball, '--exclude-entrypoints', 'package.json')
  })

  test('loads through require and import, with the same names, and no framework but its own', () => {
    expectToLoad(entries.filter((entry) => !(entry in FRAMEWORKS)))
    const scopeOrName = (name: string): string => (name.startsWith('@nestjs/') ? '@nestjs' : name)
    const peers = [...new Set(Object.keys(manifest.peerDependencies).map(scopeOrName))]
    for (const peer of peers) {
      const link = join(app, 'node_modules', peer)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(installed(peer), link, 'junction')
    }
    expectToLoad(Object.keys(FRAMEWORKS))
    for (const entry of entries) {
      const script = `require('${entry}'); console.log(Object.keys(require.cache).join('\\n'))`
      const loaded = node(app, '-e', script).replaceAll('\\', '/')
      const found = peers.filter((peer) => loaded.includes(`/node_modules/${peer}/`))
      expect([entry, found]).toEqual([entry, [FRAMEWORKS[entry] ?? []].flat()])
    }
  })
})
