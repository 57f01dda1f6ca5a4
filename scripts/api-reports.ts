import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

// Writes the public interface as text, in one file per entry point: `npm run generate`. `npm run check:api` fails if a file differs from
// what is exported, or if an exported name has no docstring. `@internal` members are not part of the declarations.
const root = join(__dirname, '..')
const folder = join(root, 'api')
const printer = ts.createPrinter({ removeComments: true })

/** Maps each entry point, such as `shedlock-orm/sql`, to the declaration file of `src/sql/index.ts`. */
function entryFiles(): Map<string, string> {
  const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    name: string
    exports: Record<string, string | { require: { default: string } }>
  }
  const entries = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'string'
      ? []
      : [
          [
            name + path.slice(1),
            join(root, 'src', target.require.default.split('/')[2] ?? '', 'index.d.ts'),
          ] as const,
        ],
  )
  return new Map(entries)
}

/** Compiles the sources to declarations in memory, and returns a program of these declarations. */
function declarations(entries: readonly string[]): ts.Program {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.build.json'), (file) =>
    ts.sys.readFile(file),
  ) as {
    config: object
  }
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const emitted = new Map<string, string>()
  const sources = entries.map((file) => file.replace(/\.d\.ts$/, '.ts'))
  const settings: ts.CompilerOptions = { ...options, declarationMap: false }
  delete settings.outDir
  ts.createProgram(sources, settings).emit(
    undefined,
    (file, text) => emitted.set(file, text),
    undefined,
    true,
  )
  const host = ts.createCompilerHost(options)
  host.fileExists = (file) => emitted.has(file) || (!isSource(file) && ts.sys.fileExists(file))
  host.readFile = (file) => emitted.get(file) ?? ts.sys.readFile(file)
  const getSourceFile = host.getSourceFile.bind(host)
  host.getSourceFile = (file, version, ...rest) => {
    const text = emitted.get(file)
    return text === undefined
      ? getSourceFile(file, version, ...rest)
      : ts.createSourceFile(file, text, version, true)
  }
  return ts.createProgram([...entries], { ...options, noEmit: true }, host)
}

function isSource(file: string): boolean {
  return file.startsWith(join(root, 'src')) && !file.endsWith('.d.ts')
}

interface Report {
  readonly text: string
  readonly undocumented: string[]
}

function exportsOf(file: ts.SourceFile): ts.Symbol[] {
  const module = checker.getSymbolAtLocation(file)
  return module ? checker.getExportsOfModule(module) : []
}

function original(symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

/** @param known all names that any entry point exports */
function report(exported: readonly ts.Symbol[], known: ReadonlySet<ts.Symbol>): Report {
  const others = new Set<string>()
  const undocumented: string[] = []
  const parts = [...exported]
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map((symbol) => {
      const target = original(symbol)
      if (target.getDocumentationComment(checker).length === 0) undocumented.push(symbol.name)
      const texts = (target.declarations ?? []).map((node) => {
        ts.forEachChild(node, function visit(child): void {
          const used = ts.isIdentifier(child) ? checker.getSymbolAtLocation(child) : undefined
          if (used && isOurType(original(used)) && !known.has(original(used))) others.add(child.getText())
          ts.forEachChild(child, visit)
        })
        return printer.printNode(ts.EmitHint.Unspecified, statementOf(node), node.getSourceFile())
      })
      const name = target.name === symbol.name ? '' : `// as ${symbol.name}\n`
      return name + texts.join('\n')
    })
  const uses = others.size > 0 ? `\n// used, and exported nowhere: ${[...others].sort().join(', ')}\n` : ''
  return { text: `${parts.join('\n\n')}\n${uses}`, undocumented }
}

/** Returns the node to print. For a variable, this is the whole statement, which contains `declare const`. */
function statementOf(node: ts.Node): ts.Node {
  return ts.isVariableDeclaration(node) ? node.parent.parent : node
}

function isOurType({ flags, declarations = [] }: ts.Symbol): boolean {
  const isType = (flags & (ts.SymbolFlags.Type & ~ts.SymbolFlags.TypeParameter)) !== 0
  return isType && declarations.some((node) => node.getSourceFile().fileName.startsWith(join(root, 'src')))
}

const entries = entryFiles()
const program = declarations([...entries.values()])
const checker = program.getTypeChecker()
const isCheck = process.argv.includes('--check')
mkdirSync(folder, { recursive: true })
const exported = [...entries].map(([name, path]) => {
  const source = program.getSourceFile(path)
  if (!source) throw new Error(`There is no ${path}.`)
  return { name, symbols: exportsOf(source) }
})
const known = new Set(exported.flatMap(({ symbols }) => symbols.map(original)))
for (const { name, symbols } of exported) {
  const { text, undocumented } = report(symbols, known)
  const file = join(folder, `${name.replace('/', '.')}.txt`)
  if (!isCheck) writeFileSync(file, text)
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(
      `The interface of ${name} differs from ${file} – run \`npm run generate\`, and check the difference.`,
    )
    process.exitCode = 1
  }
  if (undocumented.length === 0) continue
  console.error(`${name} exports names without a docstring: ${undocumented.join(', ')}`)
  process.exitCode = 1
}
