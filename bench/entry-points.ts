import { execFileSync } from 'node:child_process'
import { build } from 'esbuild'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asMany } from './fraction'
import { median } from './quantile'

export interface EntryPoint {
  readonly name: string
  /** The median time of `require` in a fresh process, in milliseconds. */
  readonly milliseconds: number
  /** The ratio to the time of an empty module. */
  readonly timesEmpty: number
  readonly minifiedBytes: number
  /** The other packages that it loads. */
  readonly packages: string[]
}

const PROCESSES = asMany(15)
const root = join(__dirname, '..')

export async function entryPoints(): Promise<EntryPoint[]> {
  const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    name: string
    exports: Record<string, { require: { default: string } } | string>
  }
  const all: EntryPoint[] = []
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-bench-'))
  const empty = join(folder, 'empty.js')
  writeFileSync(empty, '')
  for (const [path, target] of Object.entries(exports)) {
    if (typeof target === 'string') continue
    const file = join(root, target.require.default)
    // Alternate between the two, so that other load on the machine slows down both.
    const runs = Array.from({ length: PROCESSES }, () => [load(empty), load(file)] as const)
    const [nothing, milliseconds] = [0, 1].map((which) =>
      median(runs.map((pair) => pair[which]?.milliseconds ?? NaN)),
    ) as [number, number]
    all.push({
      name: name + path.slice(1),
      milliseconds,
      timesEmpty: milliseconds / nothing,
      minifiedBytes: await minified(file),
      packages: runs[0]?.[1].packages ?? [],
    })
  }
  rmSync(folder, { recursive: true })
  return all
}

function load(file: string): { milliseconds: number; packages: string[] } {
  const script = `
    const began = performance.now()
    require(${JSON.stringify(file)})
    const milliseconds = performance.now() - began
    const packages = Object.keys(require.cache).map((path) => /node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(path)?.[1])
    console.log(JSON.stringify({ milliseconds, packages: [...new Set(packages)].filter(Boolean).sort() }))`
  const printed = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8', env: {} })
  return JSON.parse(printed) as { milliseconds: number; packages: string[] }
}

async function minified(file: string): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    minify: true,
    platform: 'node',
    packages: 'external',
    write: false,
  })
  return outputFiles.reduce((sum, { contents }) => sum + contents.byteLength, 0)
}

/** The size of the whole package on disk. */
export function installedBytes(): number {
  const printed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return (JSON.parse(printed) as { unpackedSize: number }[])[0]?.unpackedSize ?? NaN
}
