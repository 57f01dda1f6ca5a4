import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { installInto, manifest, tarball, temporaryFolder } from './packed-package'

/** In bytes, as they were when somebody last looked. To accept others: UPDATE_SIZES=1 npm run check:package -- sizes */
const FILE = join(__dirname, 'sizes.json')
const noted = JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, number>>
/** How much more is no reason to look. */
const ROOM = 1.1

const app = join(temporaryFolder(), 'app')
const inApp = join(app, 'node_modules', manifest.name)
let sizes: Readonly<Record<string, number>> = {}

/** All that an app gets that imports this entry point, without its peers. */
async function minified(file: string): Promise<number> {
  const { outputFiles } = await build({
    ...{ entryPoints: [join(inApp, file)], bundle: true, minify: true, write: false },
    ...{ platform: 'node', packages: 'external', format: file.endsWith('.mjs') ? 'esm' : 'cjs' },
  })
  return outputFiles[0]?.contents.byteLength ?? NaN
}

beforeAll(async () => {
  installInto(app)
  const files = readdirSync(inApp, { recursive: true, encoding: 'utf8' })
    .map((path) => statSync(join(inApp, path)))
    .filter((file) => file.isFile())
  const entries = Object.entries(manifest.exports).flatMap(([name, target]) =>
    typeof target === 'string'
      ? []
      : Object.entries(target).map(([how, { default: file }]) => ({ name: `${how} ${name}`, file })),
  )
  sizes = {
    packed: statSync(tarball).size,
    unpacked: files.reduce((sum, { size }) => sum + size, 0),
    files: files.length,
    ...Object.fromEntries(
      await Promise.all(entries.map(async ({ name, file }) => [name, await minified(file)] as const)),
    ),
  }
  if (process.env['UPDATE_SIZES'])
    writeFileSync(
      FILE,
      `${JSON.stringify(sizes, undefined, 2)}
`,
    )
}, 120_000)

describe('the packed package', () => {
  test('has the same entry points as in sizes.json', () => {
    expect(Object.keys(sizes)).toEqual(Object.keys(noted))
  })

  test.each(Object.entries(noted))('has not grown by a tenth: %s was %i', (what, before) => {
    expect(sizes[what]).toBeLessThan(before * ROOM)
  })
})
