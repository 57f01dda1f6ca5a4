import { execFileSync } from 'node:child_process'
import { build } from 'esbuild'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asMany } from './fraction'
import { median } from './quantile'

export interface EntryPoint {
  readonly name: string
  /** The median time of `import` in a fresh process, in milliseconds. */
  readonly milliseconds: number
  /** The ratio to the time of an empty module. */
  readonly timesEmpty: number
  /** How much heap it needs. */
  readonly heapBytes: number
  /** With the packages that it depends on, without the peers that an app has anyway. */
  readonly minifiedBytes: number
  /** The other packages that it loads. */
  readonly packages: string[]
}

const PROCESSES = asMany(15)
const root = join(__dirname, '..')
const PEERS = ['@verrou/core', '@verrou/core/drivers/knex', 'pg-boss']
/** What pg-boss's driver would load if it were installed. */
const ABSENT = ['pg-native', 'pg-cloudflare']

export async function entryPoints(): Promise<EntryPoint[]> {
  const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    name: string
    exports: Record<string, { require: { default: string } } | string>
  }
  const ours = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'string'
      ? []
      : [{ name: name + path.slice(1), module: join(root, target.require.default) }],
  )
  const all: EntryPoint[] = []
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-bench-'))
  const empty = join(folder, 'empty.js')
  writeFileSync(empty, '')
  for (const { name, module } of [...ours, ...PEERS.map((peer) => ({ name: peer, module: peer }))]) {
    // Alternate between the two, so that other load on the machine slows down both.
    const runs = Array.from({ length: PROCESSES }, () => [load(empty), load(module)] as const)
    const [nothing, milliseconds] = [0, 1].map((which) =>
      median(runs.map((pair) => pair[which]?.milliseconds ?? NaN)),
    ) as [number, number]
    const bundled = await bundle(module, PEERS.includes(name))
    all.push({
      name,
      milliseconds,
      timesEmpty: milliseconds / nothing,
      heapBytes: median(runs.map(([without, loaded]) => loaded.heapBytes - without.heapBytes)),
      minifiedBytes: bundled.bytes,
      packages: [...new Set([...(runs[0]?.[1].packages ?? []), ...bundled.packages])].sort(),
    })
  }
  rmSync(folder, { recursive: true })
  return all
}

interface Load {
  readonly milliseconds: number
  readonly heapBytes: number
  readonly packages: string[]
}

function load(module: string): Load {
  const script = `
    const heap = () => { gc(); gc(); return process.memoryUsage().heapUsed }
    const before = heap()
    const began = performance.now()
    import(${JSON.stringify(module)}).then((kept) => {
      const milliseconds = performance.now() - began
      const packages = Object.keys(require.cache).map((path) => /node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(path)?.[1])
      console.log(JSON.stringify({ milliseconds, heapBytes: heap() - before, packages: packages.filter(Boolean), kept: typeof kept }))
    })`
  const printed = execFileSync(process.execPath, ['--expose-gc', '-e', script], {
    cwd: __dirname,
    encoding: 'utf8',
    env: {},
  })
  return JSON.parse(printed) as Load
}

async function bundle(
  module: string,
  withDependencies: boolean,
): Promise<{ bytes: number; packages: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export * from ${JSON.stringify(module)}`, resolveDir: __dirname },
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    metafile: true,
    write: false,
    logLevel: 'error',
    ...(withDependencies ? { external: ABSENT } : { packages: 'external' }),
  })
  return {
    bytes: outputFiles.reduce((sum, { contents }) => sum + contents.byteLength, 0),
    packages: Object.keys(metafile.inputs).flatMap(
      (path) => /.*node_modules\/((@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
    ),
  }
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
