import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/backends/free-port'
import { installPackage } from '../test/backends/install-package'
import { waitForPort } from '../test/backends/wait-for-port'
import { copySources } from './copy-sources'

// Rehearses a release on a private registry on the loopback interface: packs, publishes, installs and uses the package, and shows
// that publishing it twice is refused. Staging and provenance exist only on npm's own registry, so they are not covered.

const USE = `
import assert from 'node:assert'
import { InMemoryLockProvider, LockingTaskExecutor } from 'shedlock-orm'
import { dialects } from 'shedlock-orm/sql'
const executor = new LockingTaskExecutor(new InMemoryLockProvider())
const result = await executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, () => 'ran')
assert.deepEqual(result, { executed: true, value: 'ran' })
console.log(result.value, 'with', Object.keys(dialects).length, 'dialects')
`

/** Copies the sources, and fills in what a real release needs: a repository and an author. */
function checkout(folder: string): void {
  const manifest = copySources(folder)
  const known = {
    repository: 'github:rehearsal/shedlock-orm',
    author: 'A rehearsal',
    publishConfig: { ...manifest.publishConfig, provenance: false },
    ...(manifest['repository'] !== undefined && { repository: manifest['repository'] }),
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, ...known }, undefined, 2))
}

async function startRegistry(folder: string): Promise<{ registry: string; stop: () => void }> {
  // The last version that runs on Node.js 20.
  const verdaccio = await installPackage('verdaccio', '6.1.6', { overrides: { 'node-fetch': '2.7.0' } })
  const port = await freePort()
  const config = join(folder, 'registry.yaml')
  const everybody = "{ '**': { access: $all, publish: $all } }"
  writeFileSync(config, `storage: ${join(folder, 'registry')}\nuplinks: {}\npackages: ${everybody}\n`)
  const server = spawn(
    process.execPath,
    [join(verdaccio, 'bin/verdaccio'), '--config', config, '--listen', `127.0.0.1:${port}`],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  await waitForPort(port)
  return { registry: `http://127.0.0.1:${port}/`, stop: () => void server.kill() }
}

/** Runs a command, and prints it with its output. */
function show(cwd: string, command: string, ...args: string[]): void {
  console.log(`\n$ ${[command, ...args].filter((word) => !word.includes('\n')).join(' ')}`)
  execFileSync(command, args, { cwd, stdio: 'inherit', shell: process.platform === 'win32' })
}

function expectRefusal(cwd: string, command: string, ...args: string[]): void {
  try {
    show(cwd, command, ...args)
  } catch {
    console.log('(refused)')
    return
  }
  throw new Error(`${args.join(' ')} should have been refused.`)
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-rehearsal-'))
  const { registry, stop } = await startRegistry(folder)
  try {
    const [sources, app] = [join(folder, 'sources'), join(folder, 'app')]
    mkdirSync(sources)
    mkdirSync(app)
    checkout(sources)
    // npm refuses to publish without a token, although this registry accepts any.
    const settings = `registry=${registry}\n//${new URL(registry).host}/:_authToken=rehearsal\nloglevel=notice\n`
    for (const place of [sources, app]) writeFileSync(join(place, '.npmrc'), settings)
    writeFileSync(join(app, 'package.json'), '{ "private": true, "type": "module" }')
    show(sources, 'npm', 'publish')
    expectRefusal(sources, 'npm', 'publish', '--ignore-scripts')
    show(app, 'npm', 'view', 'shedlock-orm', 'name', 'version', 'repository', 'homepage', 'bugs', 'dist-tags')
    show(app, 'npm', 'install', 'shedlock-orm', '--no-audit', '--no-fund')
    show(app, process.execPath, '--input-type=module', '--eval', USE)
    show(app, 'npx', 'shedlock-orm', 'sql', 'postgres')
    console.log('\nStaging, which only npm supports:')
    expectRefusal(sources, 'npm', 'stage', 'publish', '--ignore-scripts')
  } finally {
    stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

void main()
