import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from '@jest/globals'
import manifest from '../../package.json'

const root = join(__dirname, '..', '..')
/** An app beside the package. Only what the package exports can be named in the app's declarations. */
const app = join(root, 'nameable-app')
const packageFolder = join(root, 'node_modules', 'shedlock-orm')

const { config } = ts.readConfigFile(join(root, 'tsconfig.build.json'), (file) => ts.sys.readFile(file)) as {
  config: object
}
const options: ts.CompilerOptions = {
  ...ts.parseJsonConfigFileContent(config, ts.sys, root).options,
  declaration: true,
  declarationMap: false,
  noUnusedLocals: false,
}
const entries = Object.keys(manifest.exports).filter((path) => !path.endsWith('.json'))

/** A host that also has files which are not on the disk. */
function hostWith(files: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  delete host.directoryExists
  delete host.realpath
  const getSourceFile = host.getSourceFile.bind(host)
  host.fileExists = (file) => files.has(file) || ts.sys.fileExists(file)
  host.readFile = (file) => files.get(file) ?? ts.sys.readFile(file)
  host.getSourceFile = (file, version, ...rest) => {
    const text = files.get(file)
    return text === undefined
      ? getSourceFile(file, version, ...rest)
      : ts.createSourceFile(file, text, version, true)
  }
  return host
}

/** The package as it is published, with declarations only. */
function publishedFiles(): Map<string, string> {
  const files = new Map([[join(packageFolder, 'package.json'), JSON.stringify(manifest)]])
  const sources = entries.map((entry) => join(root, 'src', entry === '.' ? 'core' : entry, 'index.ts'))
  const { outDir, ...inPlace } = options
  ts.createProgram(sources, { ...inPlace, emitDeclarationOnly: true }).emit(undefined, (file, text) => {
    const published = file.replace(join(root, 'src'), join(packageFolder, 'dist'))
    files.set(published, text)
    // The entry points of ES modules have the same declarations.
    files.set(published.replace(/\.d\.ts$/, '.d.mts'), text.replace(/(from '\.[^']*)'/g, "$1.mjs'"))
  })
  files.set(join(app, 'package.json'), '{"name":"nameable-app"}')
  return files
}

/** An app that exports one of each thing: what a function takes and returns, and each member of a class or an interface. */
function appOf(entry: string, module: ts.Symbol, checker: ts.TypeChecker): string {
  const lines = [
    `import * as it from 'shedlock-orm${entry.slice(1)}'`,
    // Inferred rather than written, so that the declarations need the types' own names.
    `declare function taken<All extends any[]>(f: (...all: All) => unknown): [...All]`,
    `declare function returned<Result>(f: (...all: any[]) => Result): Result`,
    `declare function constructed<All extends any[]>(f: abstract new (...all: All) => unknown): [...All]`,
  ]
  const exportOne = (value: string): void => void lines.push(`export const one${lines.length} = ${value}`)
  for (const exported of checker.getExportsOfModule(module)) {
    const { name } = exported
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
    const [declaration] = symbol.declarations ?? []
    if (!declaration) throw new Error(`${name} is declared nowhere.`)
    if (ts.isFunctionDeclaration(declaration)) {
      exportOne(`taken(it.${name})`)
      exportOne(`returned(it.${name})`)
    }
    if (ts.isVariableDeclaration(declaration))
      for (const member of members(checker.getTypeOfSymbol(symbol))) exportOne(`it.${name}.${member}`)
    if (ts.isClassDeclaration(declaration) && !isTypeOnly(exported)) exportOne(`constructed(it.${name})`)
    if (!ts.isClassDeclaration(declaration) && !ts.isInterfaceDeclaration(declaration)) continue
    const parameters = declaration.typeParameters?.map(() => 'any') ?? []
    const type = `it.${name}${parameters.length > 0 ? `<${parameters.join(', ')}>` : ''}`
    for (const member of members(checker.getDeclaredTypeOfSymbol(symbol)))
      exportOne(`(one: ${type}) => one.${member}`)
  }
  return lines.join('\n')
}

function isTypeOnly({ declarations = [] }: ts.Symbol): boolean {
  return declarations.some(
    (each) => ts.isExportSpecifier(each) && (each.isTypeOnly || each.parent.parent.isTypeOnly),
  )
}

/** The public members that an expression can name. */
function members(type: ts.Type): string[] {
  const isPublic = ({ valueDeclaration: declaration }: ts.Symbol): boolean =>
    !declaration ||
    (ts.getCombinedModifierFlags(declaration) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) === 0
  return type
    .getProperties()
    .filter(isPublic)
    .map(({ name }) => name)
    .filter((name) => /^(?!__)[\w$]+$/.test(name))
}

const files = publishedFiles()
const declarationsOf = (entry: string): string =>
  join(packageFolder, 'dist', entry === '.' ? 'core' : entry, 'index.d.ts')
const appFile = (entry: string): string => join(app, `${entry === '.' ? 'core' : entry.slice(2)}.ts`)
const published = ts.createProgram(entries.map(declarationsOf), { ...options, noEmit: true }, hostWith(files))
for (const entry of entries) {
  const checker = published.getTypeChecker()
  const source = published.getSourceFile(declarationsOf(entry))
  const module = source && checker.getSymbolAtLocation(source)
  if (!module) throw new Error(`${entry} has no declarations.`)
  files.set(appFile(entry), appOf(entry, module, checker))
}
const program = ts.createProgram(entries.map(appFile), options, hostWith(files))

it.each(entries)(
  'an app that exports what %s takes and returns can be compiled with declarations',
  (entry) => {
    const source = program.getSourceFile(appFile(entry))
    const problems = [
      ...program.getSemanticDiagnostics(source),
      ...program.getDeclarationDiagnostics(source),
    ].map(
      ({ code, messageText, start = 0 }) =>
        `TS${code} ${ts.flattenDiagnosticMessageText(messageText, ' ')} – ${source?.text.slice(start).split('\n')[0]}`,
    )
    expect(source?.text.split('\n').length).toBeGreaterThan(2)
    expect(problems).toEqual([])
  },
)
