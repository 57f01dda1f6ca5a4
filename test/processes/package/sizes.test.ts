import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from '@jest/globals'
import { installInto, manifest, tarball, temporaryFolder } from './packed-package'

/** In bytes, as they were when somebody last looked. To accept others: UPDATE_SIZES=1 npm run check:package -- sizes */
const FILE = join(__dirname, 'sizes.json')
const noted = JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, number>>
/** How much more is no reason to look. */
const ROOM = 1.1

/** All that an app gets that imports this entry point, without its peers. */
async function minified(file: string): Promise<number> {
  const { outputFiles } = await build({
    ...{ entryPoints: [file], bundle: true, minify: true, write: false },
    ...{ platform: 'node', packages: 'external', format: file.endsWith('.mjs') ? 'esm' : 'cjs' },
  })
  return outputFiles[0]?.contents.byteLength ?? NaN
}

test('nothing in the packed package has grown by a tenth since sizes.json', async () => {
  const app = join(temporaryFolder(), 'app')
  installInto(app)
  const inApp = join(app, 'node_modules', manifest.name)
  const files = readdirSync(inApp, { recursive: true, encoding: 'utf8' })
    .map((path) => statSync(join(inApp, path)))
    .filter((file) => file.isFile())
  const sizes: Record<string, number> = {
    packed: statSync(tarball).size,
    unpacked: files.reduce((sum, { size }) => sum + size, 0),
    files: files.length,
  }
  for (const [name, target] of Object.entries(manifest.exports))
    if (typeof target !== 'string')
      for (const [how, { default: file }] of Object.entries(target))
        sizes[`${how} ${name}`] = await minified(join(inApp, file))
  if (process.env['UPDATE_SIZES']) writeFileSync(FILE, `${JSON.stringify(sizes, undefined, 2)}\n`)
  expect(Object.keys(sizes)).toEqual(Object.keys(noted))
  const grown = Object.entries(noted).filter(([what, before]) => !((sizes[what] ?? NaN) < before * ROOM))
  expect(grown.map(([what, before]) => [what, before, sizes[what]])).toEqual([])
})
