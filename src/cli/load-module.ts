import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Loads a file of the project as Node.js takes it: a CommonJS one with `require`, so that loaders which only know that
 * (`--require ts-node/register`) see it.
 */
export async function loadModule(path: string): Promise<object> {
  if (!isCommonJs(path)) return importModule(path)
  try {
    return createRequire(path)(path) as object
  } catch (error) {
    const { code } = error as { code?: unknown }
    // It is an ES module after all.
    if (code === 'ERR_REQUIRE_ESM' || code === 'ERR_REQUIRE_ASYNC_MODULE') return importModule(path)
    throw error
  }
}

async function importModule(path: string): Promise<object> {
  return (await import(pathToFileURL(path).href)) as object
}

function isCommonJs(path: string): boolean {
  const extension = extname(path)
  if (extension === '.mjs' || extension === '.mts') return false
  if (extension === '.cjs' || extension === '.cts') return true
  return typeOfPackage(dirname(path)) !== 'module'
}

function typeOfPackage(folder: string): unknown {
  const manifest = join(folder, 'package.json')
  if (existsSync(manifest)) return (JSON.parse(readFileSync(manifest, 'utf8')) as { type?: unknown }).type
  const parent = dirname(folder)
  return parent === folder ? undefined : typeOfPackage(parent)
}
