import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
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
    const advice = /\.[cm]?ts$/.test(path) ? loaderAdvice(path, error as object) : ''
    throw wrongUsage(`${path} cannot be loaded: ${oneLine(error)}${advice}`)
  }
}

/** Packages that make Node.js load TypeScript, in its options. */
const LOADERS = /ts-node|tsx|swc|esbuild|jiti|ts-patch/

/** The loader that TypeScript may need. With one, the file or the loader has thrown an error of its own. */
function loaderAdvice(path: string, { code }: { code?: unknown }): string {
  if (!LOADERS.test([process.env['NODE_OPTIONS'], ...process.execArgv].join(' ')))
    return ' – TypeScript may need a loader, such as NODE_OPTIONS="--require ts-node/register" or NODE_OPTIONS="--import tsx"'
  return code === 'ERR_UNKNOWN_FILE_EXTENSION' && !isCommonJs(path)
    ? ' – the loader in NODE_OPTIONS does not load ES modules: use NODE_OPTIONS="--import tsx"'
    : ''
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
