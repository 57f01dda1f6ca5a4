import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Job } from '../core/internal'
import { wrongUsage } from './command-error'
import { oneLine } from './output'
import { isCommonJs } from './project'

/**
 * Loads a module that the user names, and returns what it exports.
 *
 * @throws CommandError
 */
export async function loadFile(file: string): Promise<object> {
  const path = resolve(file)
  if (!existsSync(path)) throw wrongUsage(`There is no file ${path} – correct the path.`)
  try {
    return await loadModule(path)
  } catch (error) {
    const advice = /\.[cm]?ts$/.test(path) ? loaderAdvice(path, error) : ''
    throw wrongUsage(`${path} cannot be loaded: ${oneLine(error)}${advice}`)
  }
}

/** Returns what a module exports as `jobs`, or as its default. */
export async function loadJobs(file: string): Promise<Readonly<Record<string, Job>>> {
  const { jobs, default: main } = (await loadFile(file)) as {
    jobs?: unknown
    default?: { jobs?: unknown } | null
  }
  const found = jobs ?? main?.jobs ?? main
  if (typeof found !== 'object' || found === null)
    throw wrongUsage(
      `${resolve(file)} exports no jobs – export them as: export const jobs = { report: { due: cron } }`,
    )
  return found as Readonly<Record<string, Job>>
}

/** Packages that make Node.js load TypeScript, in its options. */
const LOADERS = /ts-node|tsx|swc|esbuild|jiti|ts-patch/

/** What Node.js reports of a file that is missing, and of `./entity`, which means `./entity.ts` only to a loader. */
const NOT_FOUND: readonly unknown[] = [
  'MODULE_NOT_FOUND',
  'ERR_MODULE_NOT_FOUND',
  'ERR_UNSUPPORTED_DIR_IMPORT',
]
/** Not the name of a package, which no loader finds either. */
const FILE = /'(\.{0,2}\/|[A-Z]:|file:)/

/** What is wrong with the loading of TypeScript. If the file or a loader has thrown an error of its own, that is the reason. */
function loaderAdvice(path: string, error: unknown): string {
  const options = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ')
  const { code, message, stack } = error as Record<string, unknown>
  const needs = isNotUnderstood(code, stack)
    ? 'needs'
    : NOT_FOUND.includes(code) && FILE.test(String(message))
      ? 'may need'
      : undefined
  if (!LOADERS.test(options))
    return needs === undefined
      ? ''
      : ` – TypeScript ${needs} a loader, such as NODE_OPTIONS="--require ts-node/register" or NODE_OPTIONS="--import tsx"`
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && !isCommonJs(path))
    return ' – the loader in NODE_OPTIONS does not load ES modules: use NODE_OPTIONS="--import tsx"'
  return ''
}

/** Whether Node.js itself does not understand the code. A SyntaxError that the code throws, such as for JSON, begins elsewhere. */
function isNotUnderstood(code: unknown, stack: unknown): boolean {
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' || code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return true
  const [, thrownIn = ''] = /^SyntaxError: .*\n +at (.*)$/m.exec(String(stack)) ?? []
  return code === undefined && thrownIn.includes('node:internal/')
}

/**
 * Loads a file of the project as Node.js does. Uses `require` for CommonJS, because some loaders hook only that
 * (`--require ts-node/register`).
 */
async function loadModule(path: string): Promise<object> {
  if (!isCommonJs(path)) return importModule(path)
  try {
    return createRequire(path)(path) as object
  } catch (error) {
    const { code } = error as { code?: unknown }
    // It is an ES module despite its extension or package type.
    if (code === 'ERR_REQUIRE_ESM' || code === 'ERR_REQUIRE_ASYNC_MODULE') return importModule(path)
    throw error
  }
}

async function importModule(path: string): Promise<object> {
  return (await import(pathToFileURL(path).href)) as object
}
