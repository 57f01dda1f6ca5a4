/**
 * Counts the files, functions and calls of the library that one `executeWithLock`, `extend` and `unlock` pass through, as V8 counts
 * them, with TypeORM on PostgreSQL. `index.ts` and `internal.ts` are not counted, because they only re-export names.
 * `node scripts/way-of-a-lock.mjs [--files] [--functions] [another checkout]`
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = resolve(process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? '.')
// Compile file by file rather than bundled as in `dist`, in a folder below node_modules, so that packages are found.
const cache = join(root, 'node_modules/.cache')
mkdirSync(cache, { recursive: true })
const dist = mkdtempSync(join(cache, 'way-'))
process.on('exit', () => rmSync(dist, { recursive: true, force: true }))
// Use TypeScript's compiler, because esbuild exports getters, which would be counted at each use.
for (const file of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
  if (!file.endsWith('.ts')) continue
  const { outputText } = ts.transpileModule(readFileSync(join(root, 'src', file), 'utf8'), {
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2022,
      esModuleInterop: true,
    },
  })
  const output = join(dist, file.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(output), { recursive: true })
  writeFileSync(output, outputText)
}
const require = createRequire(`${dist}${sep}`)
// In older checkouts the core's entry point was `app`.
const core = existsSync(`${dist}/app/index.js`) ? 'app' : 'core'
const { LockingTaskExecutor } = require(`${dist}/${core}/index.js`)
const { typeOrmLockProvider } = require(`${dist}/typeorm/index.js`)
const { DataSource } = require('typeorm')

const url = process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres'
const dataSource = await new DataSource({ type: 'postgres', url }).initialize()
const tableName = `way_of_a_lock_${process.pid}`
const provider = typeOrmLockProvider(dataSource, { tableName })
await provider.table.create()
const executor = new LockingTaskExecutor(provider)
const configuration = { name: 'way', lockAtMostFor: '1m' }
const acquire = () => provider.lock(configuration)

const session = new Session()
session.connect()
await session.post('Profiler.enable')

/** Runs the work once before it counts, so that what happens only once is left out. */
async function count(title, prepare, work) {
  await work(await prepare())
  const prepared = await prepare()
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await work(prepared)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  const files = result.filter(
    ({ url: file }) =>
      file.startsWith('file:') &&
      fileURLToPath(file).startsWith(dist) &&
      !['index.js', 'internal.js'].includes(basename(file)),
  )
  // V8 counts the fields of a class as a function of their own.
  for (const file of files)
    file.functions = file.functions.filter(({ functionName }) => !functionName.startsWith('<'))
  const counts = files.flatMap(({ functions }) => functions.map(({ ranges: [whole] }) => whole?.count ?? 0))
  const used = files.filter(({ functions }) =>
    functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0),
  )
  const calls = counts.reduce((sum, callsOfOne) => sum + callsOfOne, 0)
  console.log(`${title}: ${used.length} files, ${counts.filter(Boolean).length} functions, ${calls} calls`)
  if (process.argv.includes('--files'))
    for (const { url: file } of used) console.log(`  ${fileURLToPath(file).slice(dist.length + 1)}`)
  if (process.argv.includes('--functions'))
    for (const { url: file, functions } of used)
      for (const {
        functionName,
        ranges: [whole],
      } of functions)
        if (whole?.count)
          console.log(`  ${whole.count} ${fileURLToPath(file).slice(dist.length + 1)} ${functionName}`)
}

await count(
  'executeWithLock',
  async () => undefined,
  () => executor.executeWithLock(configuration, () => 'done'),
)
await count('extend', acquire, async (lock) => {
  await lock.extend('2m')
  await lock.unlock()
})
await count('unlock', acquire, (lock) => lock.unlock())
await dataSource.query(`drop table "${tableName}"`)
await dataSource.destroy()
