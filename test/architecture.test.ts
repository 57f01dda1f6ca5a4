import { readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from '@jest/globals'
import { dialects } from '../src/sql/dialects'
import { read, root as project } from './project'

const root = join(project, 'src')

/** What each floor may import: other floors, and packages. `node:` modules are everybody's. */
const FLOORS: Readonly<Record<string, { floors: readonly string[]; packages?: readonly string[] }>> = {
  core: { floors: [] },
  sql: { floors: ['core'] },
  drivers: { floors: ['core', 'sql'] },
  typeorm: { floors: ['core', 'sql', 'drivers'] },
  prisma: { floors: ['core', 'sql', 'drivers'] },
  'prisma-8': { floors: ['core', 'sql', 'drivers', 'prisma'] },
  nestjs: { floors: ['core'], packages: ['@nestjs/common', '@nestjs/core'] },
  'node-cron': { floors: ['core'] },
  opentelemetry: { floors: ['core'], packages: ['@opentelemetry/api'] },
  testing: { floors: ['core'] },
  web: { floors: ['core', 'sql'] },
  cli: {
    floors: ['core', 'sql', 'drivers', 'typeorm', 'prisma', 'prisma-8', 'web'],
    packages: ['commander'],
  },
}

/** Which files of `sql` outside of `sql/table` may import from it, and why. */
const IMPORT_TABLE: readonly RegExp[] = [
  /^sql\/(index|internal)\.ts$/, // the doors of the folder
  /^sql\/dialects\/(index|\w+\/table)\.ts$/, // a dialect's data about its tables
  /^sql\/sql-lock-provider\.ts$/, // assembles the parts: hands in the check before the first lock
]

/** Where a dialect may be called by its name, and why. */
const DIALECT_NAMES_ALLOWED: readonly RegExp[] = [
  /^sql\/dialects\//,
  /^sql\/dialect\.ts$/, // the list of their names
  /^typeorm\/data-source-like\.ts$/, // what TypeORM calls them
  /^typeorm\/query-runner-client\.ts$/, // where a client runs statements in a way of its own
  /^(prisma\/prisma-client|prisma-8\/(prisma-8-lock-provider|prisma-contract))\.ts$/, // what Prisma calls them
  /^(typeorm|prisma)\/(typeorm|prisma)-lock-provider\.ts$/, // SQLite has one connection in both ORMs, so its executor differs
  /^prisma\/prisma-model\.ts$/, // the providers of Prisma's schemas, which are their words
  /^prisma\/prisma-driver\.ts$/, // the kinds of errors of Prisma's adapters, which are their words
  /^cli\//, // what a user types
]

interface SourceFile {
  readonly path: string
  readonly floor: string
  readonly source: ts.SourceFile
  readonly imports: readonly string[]
}

const files: readonly SourceFile[] = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => path.replaceAll('\\', '/'))
  .sort()
  .map((path) => {
    const text = read(`src/${path}`)
    return {
      path,
      floor: path.split('/')[0] ?? '',
      source: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true),
      // Types, re-exports, dynamic imports and require are all in it.
      imports: ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName),
    }
  })

/** The file under `src` that a relative import means. */
function target(from: SourceFile, specifier: string): string | undefined {
  const path = relative(root, resolve(root, dirname(from.path), specifier)).replaceAll('\\', '/')
  return files.find((file) => [`${path}.ts`, `${path}/index.ts`].includes(file.path))?.path
}

/** The only file that other folders may import. */
function door(floor: string): string {
  const internal = `${floor}/internal.ts`
  return files.some(({ path }) => path === internal) ? internal : `${floor}/index.ts`
}

const COMMENT = /\/\*[\s\S]*?\*\/|\/\/.*/g

const isRelative = (specifier: string): boolean => specifier.startsWith('.')

describe('the floors', () => {
  it('are all known', () => {
    expect(files.length).toBeGreaterThan(40)
    expect(files.map(({ floor }) => floor).filter((floor) => !(floor in FLOORS))).toEqual([])
  })

  it.each(files)('$path imports only what its floor may', (file) => {
    const allowed = FLOORS[file.floor]
    const wrong = file.imports.filter((specifier) => {
      if (specifier.startsWith('node:')) return false
      if (!isRelative(specifier)) return !allowed?.packages?.includes(specifier)
      const imported = target(file, specifier)
      if (imported === undefined) return true
      const [floor = ''] = imported.split('/')
      if (floor !== file.floor) return imported !== door(floor) || !allowed?.floors.includes(floor)
      // No file leaves its folder to come back in; the index passes on what is public of the door.
      return /^[^/]+\/(index|internal)\.ts$/.test(imported) && file.path !== `${floor}/index.ts`
    })
    expect(wrong).toEqual([])
  })

  it('a lock knows nothing of all else about its table', () => {
    const locking = files.filter(({ floor, path }) => floor === 'sql' && !path.startsWith('sql/table/'))
    const wrong = locking
      .filter(({ path }) => !IMPORT_TABLE.some((allowed) => allowed.test(path)))
      .flatMap((file) => file.imports.map((specifier) => [file.path, target(file, specifier) ?? '']))
      .filter(([, imported = '']) => /^sql\/(table\/|dialects\/\w+\/table\.ts$)/.test(imported))
    expect(locking.length).toBeGreaterThan(30)
    expect(wrong).toEqual([])
  })

  it('core and sql take time, timers and chance from core/time.ts alone, so that they can be simulated', () => {
    const outside =
      /\b(performance\.now|Date\.now|Math\.random|set(Timeout|Interval|Immediate)|clearTimeout)\b/
    const asking = files
      .filter(({ floor, path }) => ['core', 'sql'].includes(floor) && path !== 'core/time.ts')
      .filter(({ source }) => outside.test(source.text.replace(COMMENT, '')))
    expect(asking.map(({ path }) => path)).toEqual([])
  })

  it('have no cycles, types included', () => {
    const graph = new Map(
      files.map((file) => [
        file.path,
        file.imports.filter(isRelative).map((each) => target(file, each) ?? ''),
      ]),
    )
    const done = new Set<string>()
    const visit = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path)) throw new Error([...trail.slice(trail.indexOf(path)), path].join(' → '))
      if (done.has(path)) return
      for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
      done.add(path)
    }
    for (const path of graph.keys()) visit(path, [])
  })
})

it.each([
  ['docs/maintainers/architecture.md', 'src'],
  ['CONTRIBUTING.md', 'test'],
])('%s has every folder of %s, and no other', (page, parent) => {
  // What stands between backticks at the beginning of an item of a list, before a colon.
  const first = [...read(page).matchAll(/^- (`[^`]*`(?:, `[^`]*`)*): /gm)]
    .map(([, names = '']) => names)
    .join()
  const named = [...first.matchAll(/`([^`]+)`/g)].flatMap(([, folder = '']) => /^\w+\/.+/.exec(folder) ?? [])
  const folders = readdirSync(join(project, parent), { withFileTypes: true })
  const names = folders.filter((entry) => entry.isDirectory()).map(({ name }) => `${parent}/${name}`)
  expect(named.sort()).toEqual(names.sort())
})

it('no comment of core and sql, nor the page, names a function or a class that is gone', () => {
  const code = files.map(({ source }) => source.text.replace(COMMENT, '')).join('\n')
  const known = new Set(code.match(/\w+/g))
  const described = files.filter(({ floor }) => ['core', 'sql'].includes(floor))
  const comments = described.flatMap(({ source }) => source.text.match(COMMENT) ?? [])
  const named = [...comments, read('docs/maintainers/architecture.md')].flatMap(
    // Between backticks, or first in a line of the path of one lock.
    (text) => text.match(/(?<=`|^ *(?:new |\w+\.)?)\w*[a-z][A-Z]\w*(?=[`(. ])/gm) ?? [],
  )
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter((name) => !known.has(name))).toEqual([])
})

it('a dialect is named only where that is the matter', () => {
  const named = files
    .filter(({ path }) => !DIALECT_NAMES_ALLOWED.some((allowed) => allowed.test(path)))
    .flatMap(({ path, source }) =>
      [...wordsIn(source)].filter((word) => word in dialects).map((word) => `${path}: ${word}`),
    )
  expect(named).toEqual([])
})

/** Texts and property names; not what comments say. */
function wordsIn(source: ts.SourceFile): Set<string> {
  const words = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) words.add(node.text)
    if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name)) words.add(node.name.text)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return words
}
