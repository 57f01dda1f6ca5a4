import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from '@jest/globals'
import { dialects } from '../src/sql'

const root = join(__dirname, '..', 'src')

/** What each floor may import: other floors, and packages. `node:` modules are everybody's. */
const FLOORS: Readonly<Record<string, { floors: readonly string[]; packages?: readonly string[] }>> = {
  core: { floors: [] },
  app: { floors: ['core'] },
  storage: { floors: ['core'] },
  sql: { floors: ['core'] },
  drivers: { floors: ['core', 'sql'] },
  typeorm: { floors: ['core', 'sql', 'drivers'] },
  prisma: { floors: ['core', 'sql', 'drivers'] },
  nestjs: { floors: ['core'], packages: ['@nestjs/common', '@nestjs/core'] },
  'node-cron': { floors: ['core'] },
  opentelemetry: { floors: ['core'], packages: ['@opentelemetry/api'] },
  testing: { floors: ['core'] },
  web: { floors: ['core', 'sql'] },
  cli: { floors: ['core', 'sql', 'drivers', 'typeorm', 'prisma', 'web'], packages: ['commander'] },
}

/** Where a dialect may be called by its name, and why. */
const DIALECT_NAMES_ALLOWED: readonly RegExp[] = [
  /^sql\/dialects\//,
  /^sql\/dialect\.ts$/, // their list, as a type
  /^drivers\/drivers\.ts$/, // the driver of each
  /^typeorm\/data-source-like\.ts$/, // what TypeORM calls them
  /^typeorm\/query-runner-sql-executor\.ts$/, // where a client runs statements in a way of its own
  /^prisma\/(prisma-client|prisma8\/prisma8)\.ts$/, // what Prisma calls them
  /^(typeorm|prisma)\/(typeorm|prisma)-lock-provider\.ts$/, // SQLite has one connection in both ORMs, so its executor differs
  /^prisma\/prisma-model\.ts$/, // the providers of Prisma's schemas, which are their words
  /^prisma\/native-code\.ts$/, // the kinds of errors of Prisma's adapters, which are their words
  /^cli\//, // what a user types
]

const LONGEST_FILE = 200

/** The types of functions that one floor has from another, and why that is no callback of a lower floor into a higher one. */
const FUNCTION_TYPES_ALLOWED: Readonly<Record<string, string>> = {
  Task: 'what the user wants to run, and the executor calls',
  Cancel: 'what a lower floor hands out, and a higher one calls',
}

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
    const text = readFileSync(join(root, path), 'utf8')
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

function isRelative(specifier: string): boolean {
  return specifier.startsWith('.')
}

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
      // Another floor is entered through its door; nobody goes out to come back in.
      return floor === file.floor
        ? imported === `${floor}/index.ts`
        : imported !== `${floor}/index.ts` || !allowed?.floors.includes(floor)
    })
    expect(wrong).toEqual([])
  })

  it('core and sql take time, timers and chance from core/time.ts alone, so that they can be simulated', () => {
    const outside =
      /\b(performance\.now|Date\.now|Math\.random|set(Timeout|Interval|Immediate)|clearTimeout)\b/
    const asking = files
      .filter(({ floor, path }) => ['core', 'sql'].includes(floor) && path !== 'core/time.ts')
      .filter(({ source }) => outside.test(source.getText().replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')))
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

describe('the layout', () => {
  /** What stands between backticks in the first column of the tables. */
  const toldIn = (page: string): string[] =>
    [...readFileSync(join(root, '..', page), 'utf8').matchAll(/^\| (`[^|]*`) +\|/gm)].flatMap(
      ([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, folder = '']) => folder),
    )

  it('in docs/maintainers/architecture.md has every folder of src, and no other', () => {
    const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(toldIn('docs/maintainers/architecture.md').sort()).toEqual(
      folders.map(({ name }) => `src/${name}`).sort(),
    )
  })

  it('in docs/maintainers/architecture.md walks with a lock in at most ten lines, past files that exist', () => {
    const page = readFileSync(join(root, '..', 'docs/maintainers/architecture.md'), 'utf8')
    const [, walk = ''] = /```\n( +executor\.executeWithLock[^`]*)```/.exec(page) ?? []
    const lines = walk.trimEnd().split('\n')
    expect(walk).not.toBe('')
    expect(lines.length).toBeLessThanOrEqual(10)
    const named = lines.flatMap((line) => {
      let floor = ''
      return [...line.matchAll(/(?:(\w+)\/)?([\w-]+\.ts)\b/g)].map(
        ([, folder = floor, file = '']) => `${(floor = folder)}/${file}`,
      )
    })
    expect(named.filter((path) => !files.some((file) => file.path === path))).toEqual([])
  })

  it('in CONTRIBUTING.md names folders that exist', () => {
    const told = toldIn('CONTRIBUTING.md').filter((folder) => /^[a-z]+$/.test(folder))
    expect(told.length).toBeGreaterThan(5)
    expect(told.filter((folder) => !existsSync(join(root, '..', folder)))).toEqual([])
  })
})

describe('the files', () => {
  it('name a dialect only where that is their matter', () => {
    const named = files
      .filter(({ path }) => !DIALECT_NAMES_ALLOWED.some((allowed) => allowed.test(path)))
      .flatMap(({ path, source }) =>
        [...wordsIn(source)].filter((word) => word in dialects).map((word) => `${path}: ${word}`),
      )
    expect(named).toEqual([])
  })

  it(`have at most ${LONGEST_FILE} lines of code`, () => {
    const long = files.filter(({ source }) => codeLines(source) > LONGEST_FILE).map(({ path }) => path)
    expect(long).toEqual([])
  })

  it('export by name only', () => {
    expect(
      files.filter(({ source }) => /^export default/m.test(source.text)).map(({ path }) => path),
    ).toEqual([])
  })

  it('are not called by names that mean nothing', () => {
    const names = files
      .map(({ path }) => path)
      .filter((path) => /util|helper|common|manager|(?<!data)base|impl\b/.test(path))
    expect(names).toEqual([])
  })
})

describe('the exported names', () => {
  const isDoor = (path: string): boolean => /^[^/]+\/index\.ts$/.test(path)
  const exported = files.filter(({ path }) => !isDoor(path)).flatMap(exportsOf)
  const doors = files.filter(({ path }) => isDoor(path))
  const open = new Set(doors.filter(({ floor }) => floor !== 'core').flatMap(namesIn))
  const inSource = new Set(files.filter(({ path }) => !isDoor(path)).flatMap(namesIn))
  const mentions = (folder: string, ending: RegExp): string =>
    readdirSync(join(root, '..', folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => ending.test(path) && !/node_modules|maintainers/.test(path))
      .map((path) => readFileSync(join(root, '..', folder, path), 'utf8'))
      .join('\n')
  const isIn = (text: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(text)

  it('are used by another file, a test, or are the types of another one', () => {
    const tests = mentions('test', /\.ts$/)
    const isType = (node: ts.Node): boolean =>
      ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)
    const unused = exported.filter(
      ({ name, path, node }) =>
        !inSource.has(name) &&
        !open.has(name) &&
        !isIn(tests, name) &&
        // The parameters of a function may be named.
        !(
          isType(node) &&
          exported.some(
            (other) => other.node !== node && other.path === path && isIn(other.node.getText(), name),
          )
        ),
    )
    expect(unused.map(({ path, name }) => `${path}: ${name}`)).toEqual([])
  })

  it('that an app can import have a page with a program that uses them, or are types of one that has', () => {
    const programs = [...mentions('docs', /\.md$/).matchAll(/```[\s\S]*?```|`[^`\n]+`/g)].join('\n')
    const used =
      programs + mentions('examples', /\.ts$/) + readFileSync(join(root, '..', 'README.md'), 'utf8')
    const open = new Map(doors.filter(({ floor }) => floor !== 'core').flatMap(publicNames))
    const unused = exported.filter(
      ({ name, node }) =>
        open.has(name) &&
        !isIn(used, name) &&
        !(
          open.get(name) === 'type' &&
          exported.some(
            (other) => other.node !== node && open.has(other.name) && isIn(other.node.getText(), name),
          )
        ),
    )
    expect(unused.map(({ path, name }) => `${path}: ${name}`)).toEqual([])
  })

  it('are no types of functions that a floor is given by a higher one', () => {
    const crossing = files
      .filter(({ path }) => !isDoor(path))
      .flatMap((file) => namesIn(file).map((name) => ({ name, floor: file.floor })))
    const wrong = exported.filter(
      ({ name, path, node }) =>
        ts.isTypeAliasDeclaration(node) &&
        ts.isFunctionTypeNode(node.type) &&
        !(name in FUNCTION_TYPES_ALLOWED) &&
        crossing.some((used) => used.name === name && !path.startsWith(`${used.floor}/`)),
    )
    expect(wrong.map(({ path, name }) => `${path}: ${name}`)).toEqual([])
  })
})

interface Exported {
  readonly path: string
  readonly name: string
  readonly node: ts.Statement
}

function exportsOf({ path, source }: SourceFile): Exported[] {
  return source.statements.flatMap((node) => {
    const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : []
    if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    const declarations = ts.isVariableStatement(node) ? node.declarationList.declarations : [node]
    return declarations.flatMap((each) => {
      const { name } = each as { readonly name?: ts.Node }
      return name && ts.isIdentifier(name) ? [{ path, name: name.text, node }] : []
    })
  })
}

/** What a file imports by name, or passes on. */
function namesIn({ source }: SourceFile): string[] {
  return source.statements.flatMap((node) => {
    const named = ts.isImportDeclaration(node)
      ? node.importClause?.namedBindings
      : ts.isExportDeclaration(node)
        ? node.exportClause
        : undefined
    if (!named || !(ts.isNamedImports(named) || ts.isNamedExports(named))) return []
    return named.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
  })
}

/** What a door lets an app import; what is `@internal` has no declaration. */
function publicNames({ source }: SourceFile): (readonly [name: string, kind: 'type' | 'value'])[] {
  return source.statements.filter(ts.isExportDeclaration).flatMap((node) => {
    const isInternal = ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal')
    if (isInternal || !node.exportClause || !ts.isNamedExports(node.exportClause)) return []
    return node.exportClause.elements.map(
      ({ name, isTypeOnly }) => [name.text, node.isTypeOnly || isTypeOnly ? 'type' : 'value'] as const,
    )
  })
}

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

/** Lines that are neither blank nor comment: documentation should not have to be short. */
function codeLines(source: ts.SourceFile): number {
  const text = source.text.replace(/\/\*[\s\S]*?\*\//g, '')
  return text.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length
}
