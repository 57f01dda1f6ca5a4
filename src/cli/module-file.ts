import { existsSync } from 'node:fs'
import { createRequire, register } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { wrongUsage } from './command-error'
import { oneLine } from './output'
import { isCommonJs, Project } from './project'

/**
 * Loads a module that the user names, and returns what it exports.
 *
 * @throws CommandError
 */
export async function loadFile(file: string): Promise<object> {
  const path = resolve(file)
  if (!existsSync(path)) throw wrongUsage(`There is no file ${path} – correct the path.`)
  const project = new Project()
  const options = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ')
  const compilers = OTHER_COMPILERS.test(options)
    ? []
    : compilersFor(project, path).flatMap((names) => project.find(names)?.path ?? [])
  try {
    for (const compiler of compilers)
      if (compiler.endsWith('esm.mjs')) register(pathToFileURL(compiler))
      else await importModule(compiler)
    return await loadModule(path)
  } catch (error) {
    // Otherwise, the file or the compiler has thrown an error of its own.
    const isUnknown = (error as { code?: unknown }).code === 'ERR_UNKNOWN_FILE_EXTENSION'
    const needsOne = /\.[cm]?ts$/.test(path) && !OTHER_COMPILERS.test(options) && compilers.length === 0
    const [install = ''] = usualCompilers(path)
    const advice =
      isUnknown || needsOne
        ? `install ${install}, or set NODE_OPTIONS="--import tsx"`
        : 'if the scripts of the app build, set variables or load modules before they use it, do so too, such as with TS_NODE_PROJECT=FILE or NODE_OPTIONS="--require MODULE"'
    throw wrongUsage(`${path} cannot be loaded: ${oneLine(error)} – ${advice}`)
  }
}

/** Those that the user may have chosen in the options of Node.js. */
const OTHER_COMPILERS = /ts-node|tsx|swc|esbuild|jiti|ts-patch/

/** The compilers for a file. ts-node comes first, because it knows the metadata of decorators, but for an ES module tsx does. */
export const usualCompilers = (path: string): readonly string[] =>
  isCommonJs(path) ? ['ts-node', 'tsx'] : ['tsx', 'ts-node']

/** Names the modules that let Node.js load a file in TypeScript; of each list, the first one that is installed is used. */
function compilersFor(project: Project, path: string): readonly (readonly string[])[] {
  if (!/\.[cm]?ts$/.test(path)) return []
  if (!isCommonJs(path)) return [['tsx', 'ts-node/esm']]
  if (!project.has('ts-node')) return [['tsx']]
  const names = ['ts-node', 'tsconfig-paths'].filter((name) => project.has(name))
  return names.map((name) => [`${name}/register`])
}

/**
 * Loads a file of the project as Node.js does. Uses `require` for CommonJS, because some compilers hook only that
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
